import clsx from "clsx";
import { denialReason } from "../content/denial";
import { PathButton } from "../content/PathLink";
import { StatusMark } from "../content/StatusMark";
import { useToolLook } from "../content/tools";
import { useDecider } from "../state/author";
import { useLive } from "../state/live";
import { callStanding, waitingCalls } from "../state/standing";
import { seconds } from "../ui/times";
import type { ResultStatus } from "../wire/nouns";
import { allowedWords, type DoneCall } from "./audit";

/** One call as it was carried out: the thing, how it ended, how long it took, and whose word let it in. */
export function DoneLine({ done }: { done: DoneCall }) {
  const { Icon, does, did } = useToolLook(done.tool);
  const { allowed_by, decided_by } = done;
  const person = useDecider({ status: "ok", facts: { allowed_by, decided_by } });
  const open = done.status === "open";
  const denied = done.status === "denied";
  const problem = denied ? denialReason(done.error ?? "") : done.error;
  const standing = useLive(({ view }) => (view ? callStanding(view, waitingCalls(view), done.call_id) : "running"));
  const notes = [done.seconds === null ? "" : seconds(done.seconds), allowedWords(done.allowed_by, person)].filter(
    Boolean,
  );
  return (
    <li className="py-1">
      <div className="flex min-w-0 items-center gap-2">
        <Icon size={14} aria-hidden className="shrink-0 text-ink-3" />
        <span className="min-w-0 flex-1 truncate" title={done.resource}>
          {done.status === "ok" ? did : does} <code className="font-mono text-[12.5px]">{done.resource}</code>
        </span>
        {done.resource.startsWith("/") && <PathButton path={done.resource} />}
        <StatusMark status={open ? null : (done.status as ResultStatus)} standing={standing} />
      </div>
      {notes.length > 0 && <p className="pl-[22px] text-xs text-ink-3">{notes.join(" · ")}</p>}
      {problem && (
        <p dir="auto" className={clsx("pl-[22px] text-xs break-words", denied ? "text-ink-2" : "text-bad")}>
          {problem}
        </p>
      )}
    </li>
  );
}
