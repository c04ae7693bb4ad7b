// Connects a model from wherever one is missing: a server, its key, one real request, and it is ready.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { focusComposer } from "../composer/focusComposer";
import * as acts from "../state/acts";
import { usePresets } from "../state/queries";
import { t } from "../texts/start";
import { Dialog } from "../ui/Dialog";
import { say } from "../ui/outcomes";
import { api, given, Refusal } from "../wire/client";
import { type NewProvider, ProviderForm } from "./ProviderForm";

export default function ConnectDialog({ onClose }: { onClose: () => void }) {
  const { data: presets } = usePresets();
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const connect = async (provider: NewProvider) => {
    setBusy(true);
    try {
      await connectWhereItAnswers(provider);
    } finally {
      await queries.invalidateQueries({ queryKey: ["providers"] });
      setBusy(false);
    }
    say(t.connected(provider.name));
    onClose();
    requestAnimationFrame(focusComposer); // the button that opened this is gone, and a message comes next
  };
  return (
    <Dialog title={t.connectAModel} open wide onClose={onClose}>
      {presets && <ProviderForm presets={presets} busy={busy} framed={false} onConnect={connect} onCancel={onClose} />}
    </Dialog>
  );
}

const NOT_THERE = "not_there"; // a server answered, but not at this address

/** The parameter that is to blame, by the status of a connection that failed its test. */
const BLAMED: Readonly<Record<string, string>> = {
  "key refused": "api_key",
  "no key": "api_key",
  unreachable: "base_url",
};

/** Also where people leave out the /v1 that most addresses end in. Throws: Refusal, of the parameter that is to blame. */
async function connectWhereItAnswers(provider: NewProvider): Promise<void> {
  try {
    return await connectAndTest(provider);
  } catch (refusal) {
    const address = provider.base_url?.replace(/\/+$/, "");
    const isNotThere = refusal instanceof Refusal && refusal.code === NOT_THERE;
    if (!isNotThere || !address || new URL(address).pathname !== "/") throw refusal;
    return await connectAndTest({ ...provider, base_url: `${address}/v1` }).catch((other: unknown) => {
      throw other instanceof Refusal && other.code === NOT_THERE ? refusal : other;
    });
  }
}

/** Keeps a server only if it answers. Throws: Refusal, of the parameter that is to blame. */
async function connectAndTest(provider: NewProvider): Promise<void> {
  await acts.connectProvider(provider);
  let answers = false;
  try {
    const { ok, message } = await acts.testProvider(provider.name);
    answers = ok;
    if (!ok) throw await refusalOfTest(provider, message);
  } finally {
    if (!answers) await acts.removeProvider(provider.name);
  }
}

/** The server's own message about a key sends people to the settings, where a server that was not kept does not stand. */
async function refusalOfTest({ name, api_key }: NewProvider, message: string): Promise<Refusal> {
  const { providers } = await given(api.GET("/providers"));
  const status = providers.find((one) => one.name === name)?.status ?? "";
  const said = status !== "key refused" ? message : api_key ? t.keyRefused(name) : t.keyNeeded(name);
  const blamed = BLAMED[status] ?? null;
  if (!blamed && message.includes("(404)")) return new Refusal(0, NOT_THERE, said, "base_url");
  return new Refusal(0, "not_connected", said, blamed);
}
