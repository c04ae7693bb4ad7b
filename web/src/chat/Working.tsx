import clsx from "clsx";
import { useEffect, useState } from "react";
import { visible } from "../content/visible";
import { lookOf } from "../roles/theme";
import { useRoles } from "../state/queries";
import type { ModelRetry } from "../state/reduce";
import { useConnection } from "../state/sidebar";
import { t } from "../texts/chat";
import { retryWords } from "../ui/modelRetry";
import { seconds } from "../ui/times";
import { serverNow } from "../wire/serverClock";

interface Props {
  role: string;
  since: string | null;
  retry?: ModelRetry | null;
  starting?: readonly string[];
  stepsLeft?: number | null;
}

const FEW_STEPS = 3;

/** The agent is at work: who, and for how long; while its model's server is not asked again yet, why and for how long not; and which
 * MCP servers it waits for. */
export function Working({ role, since, retry = null, starting = [], stepsLeft = null }: Props) {
  const { title, colour, Icon } = lookOf(useRoles(), role);
  const now = useNow(retry);
  const lost = useConnection() === "reconnecting";
  const took = since ? Math.max(0, (now - Date.parse(since)) / 1000) : 0;
  const left = retry ? Math.min(retry.seconds, (Date.parse(retry.until) - now) / 1000) : 0;
  return (
    <p data-colour={colour} className="flex items-center gap-2 text-sm text-ink-3">
      <span
        className={clsx(
          "inline-flex size-5 shrink-0 items-center justify-center rounded-md bg-role-soft text-role",
          !lost && "breathe",
        )}
      >
        <Icon size={13} aria-hidden />
      </span>
      {lost ? (
        t.notKnownWhatItDoes
      ) : retry && left > 0 ? (
        retryWords(retry, left)
      ) : (
        <>
          {starting.length > 0 ? t.waitsForServers(starting.map(visible)) : t.isWorking(title)}
          {took >= 2 ? ` · ${seconds(Math.floor(took))}` : "…"}
          {stepsLeft !== null && stepsLeft <= FEW_STEPS && ` · ${t.stepsLeft(stepsLeft)}`}
        </>
      )}
    </p>
  );
}

/** The server's time, every second; at once when the server is to be asked again later. */
function useNow(retry: ModelRetry | null): number {
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    setNow(serverNow());
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [retry]);
  return now;
}
