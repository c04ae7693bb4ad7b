// Connects a model from wherever one is missing: a server, its key, one real request, and it is ready.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as acts from "../state/acts";
import { usePresets } from "../state/queries";
import { t } from "../texts/start";
import { Dialog } from "../ui/Dialog";
import { attempt, say } from "../ui/toasts";
import { api, given } from "../wire/client";
import { type NewProvider, ProviderForm } from "./ProviderForm";

export default function ConnectDialog({ onClose }: { onClose: () => void }) {
  const { data: presets } = usePresets();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const queries = useQueryClient();
  const connect = async (provider: NewProvider) => {
    setBusy(true);
    setProblem("");
    const refused = await connectAndTest(provider);
    await queries.invalidateQueries({ queryKey: ["providers"] });
    setBusy(false);
    if (refused === null) return; // a toast has said why
    if (refused) return setProblem(refused);
    say(t.connected(provider.name));
    onClose();
  };
  return (
    <Dialog title={t.connectAModel} open wide onClose={onClose}>
      {presets && (
        <ProviderForm
          presets={presets}
          busy={busy}
          problem={problem}
          onConnect={(provider) => void connect(provider)}
          onCancel={onClose}
        />
      )}
    </Dialog>
  );
}

/** What is wrong with it, "" if it is ready; null if it could not be kept at all. A server that does not answer is not kept. */
async function connectAndTest(provider: NewProvider): Promise<string | null> {
  if (!(await attempt(acts.connectProvider(provider)))) return null;
  let problem: string | null = null;
  await attempt(
    acts.testProvider(provider.name).then(async ({ ok, message }) => {
      problem = ok ? "" : (await isKeyRefused(provider.name)) ? t.keyRefused(provider.name) : message;
    }),
  );
  if (problem !== "") await attempt(acts.removeProvider(provider.name));
  return problem;
}

/** The server's own message sends people to the settings, where a server that was not kept does not stand. */
async function isKeyRefused(name: string): Promise<boolean> {
  const { providers } = await given(api.GET("/providers"));
  return providers.some((one) => one.name === name && one.status === "key refused");
}
