import { useEffect, useState } from "react";
import { lookOf } from "../roles/theme";
import { useRoles } from "../state/queries";
import type { ModelRetry } from "../state/reduce";
import { t } from "../texts/chat";
import { retryWords } from "../ui/modelRetry";
import { seconds } from "../ui/times";
import { serverNow } from "../wire/serverClock";

interface Props {
  role: string;
  since: string | null;
  retry?: ModelRetry | null;
}

/** The agent is at work: who, and for how long; while its model's server is not asked again yet, why and for how long not. */
export function Working({ role, since, retry = null }: Props) {
  const { title, colour, Icon } = lookOf(useRoles(), role);
  const now = useNow(retry);
  const took = since ? Math.max(0, (now - Date.parse(since)) / 1000) : 0;
  const left = retry ? Math.min(retry.seconds, (Date.parse(retry.until) - now) / 1000) : 0;
  return (
    <p data-colour={colour} className="flex items-center gap-2 text-sm text-ink-3">
      <span className="breathe inline-flex size-5 shrink-0 items-center justify-center rounded-md bg-role-soft text-role">
        <Icon size={13} aria-hidden />
      </span>
      {retry && left > 0 ? (
        retryWords(retry, left)
      ) : (
        <>
          {t.isWorking(title)}
          {took >= 2 ? ` · ${seconds(Math.floor(took))}` : "…"}
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
