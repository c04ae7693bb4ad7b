import { useEffect, useState } from "react";
import { lookOf } from "../roles/theme";
import { useRoles } from "../state/queries";
import { t } from "../texts/chat";
import { seconds } from "../ui/times";
import { serverNow } from "../wire/serverClock";

/** The agent is at work: who, and for how long. */
export function Working({ role, since }: { role: string; since: string | null }) {
  const { title, colour, Icon } = lookOf(useRoles(), role);
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, []);
  const took = since ? Math.max(0, (now - Date.parse(since)) / 1000) : 0;
  return (
    <p data-colour={colour} className="flex items-center gap-2 text-sm text-ink-3">
      <span className="breathe inline-flex size-5 items-center justify-center rounded-md bg-role-soft text-role">
        <Icon size={13} aria-hidden />
      </span>
      {t.isWorking(title)}
      {took >= 2 ? ` · ${seconds(Math.floor(took))}` : "…"}
    </p>
  );
}
