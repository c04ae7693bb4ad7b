import clsx from "clsx";
import { useEffect, useRef, useState } from "react";
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
  /** How much of its answer has come; null while none has. While more of it comes, that is sign enough. */
  grown?: number | null;
}

const FEW_STEPS = 3;
const STILL_MS = 4000; // an answer that has not grown for so long may have stalled

/** The agent is at work: who, and for how long; while its model's server is not asked again yet, why and for how long not; and which
 * MCP servers it waits for. */
export function Working({ role, since, retry = null, starting = [], stepsLeft = null, grown = null }: Props) {
  const { title, colour, Icon } = lookOf(useRoles(), role);
  const now = useNow(retry);
  const lost = useConnection() === "reconnecting";
  const took = since ? Math.max(0, (now - Date.parse(since)) / 1000) : 0;
  const still = useStillSince(grown);
  const left = retry ? Math.min(retry.seconds, (Date.parse(retry.until) - now) / 1000) : 0;
  if (grown !== null && now - still < STILL_MS) return null;
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

/** When the answer grew last. */
function useStillSince(grown: number | null): number {
  const last = useRef({ grown, at: serverNow() });
  if (last.current.grown !== grown) last.current = { grown, at: serverNow() };
  return last.current.at;
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
