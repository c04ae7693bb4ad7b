// Turns pushed notifications on and off for this browser.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/notifications";
import { Button } from "../ui/Button";
import { attempt } from "../ui/outcomes";
import { RefusalNote } from "../ui/refusal";
import type { components } from "../wire/api.gen";
import { canPush, subscribe, subscription } from "./push";

type Target = components["schemas"]["TargetResponse"];

interface Props {
  targets: readonly Target[];
  serverKey: string;
  onAdd: (body: object) => Promise<void>;
  onRemove: (target: Target) => Promise<void>;
}

const OWN = ["own-push-subscription"];

export function ThisBrowser({ targets, serverKey, onAdd, onRemove }: Props) {
  const queries = useQueryClient();
  const { data: own } = useQuery({ queryKey: OWN, queryFn: subscription });
  const [problem, setProblem] = useState("");
  const target = targets.find(({ address }) => address === own?.endpoint);
  const turnOn = async () => {
    const made = await subscribe(serverKey).catch(() => null);
    setProblem(made ? "" : t.notAllowed);
    if (made) await attempt(onAdd({ kind: "web_push", name: browserName(), subscription: made.toJSON() }));
    await queries.invalidateQueries({ queryKey: OWN });
  };
  const turnOff = async () => {
    await own?.unsubscribe();
    if (target) await onRemove(target);
    await queries.invalidateQueries({ queryKey: OWN });
  };
  return (
    <div className="space-y-2 rounded-2xl border border-line bg-surface p-4 text-sm">
      <h3 className="font-medium">{t.thisBrowser}</h3>
      <p className="text-ink-2">{canPush() ? t.thisBrowserAbout : t.noPush}</p>
      {target && <p>{t.isOn}</p>}
      {problem && <RefusalNote words={problem} />}
      {canPush() &&
        (target ? (
          <Button onClick={() => void turnOff()}>{t.turnOff}</Button>
        ) : (
          <Button needs="POST /notifications/targets" look="primary" onClick={() => void turnOn()}>
            {t.turnOn}
          </Button>
        ))}
    </div>
  );
}

/** Tells one browser of a person from another in the list. */
function browserName(): string {
  const system = /Android|iPhone|iPad|Windows|Macintosh|Linux/.exec(navigator.userAgent)?.[0];
  const program = /Firefox|Edg|Chrome|Safari/.exec(navigator.userAgent)?.[0];
  return [program, system].filter(Boolean).join(", ") || location.host;
}
