import clsx from "clsx";
import { Ban, Check, CircleSlash, Hand, LoaderCircle, X } from "lucide-react";
import { useWording } from "../state/me";
import { t } from "../texts/messages";
import { t as people } from "../texts/people";
import type { ResultStatus } from "../wire/nouns";

const MARKS: Record<ResultStatus, { Icon: typeof Check; words: string; className: string }> = {
  ok: { Icon: Check, words: t.statuses.ok, className: "text-good" },
  error: { Icon: X, words: t.statuses.error, className: "text-bad" },
  refused: { Icon: Ban, words: t.statuses.refused, className: "text-bad" },
  denied: { Icon: Ban, words: t.statuses.denied, className: "text-warn" },
  interrupted: { Icon: CircleSlash, words: t.statuses.interrupted, className: "text-warn" },
  cancelled: { Icon: CircleSlash, words: t.statuses.cancelled, className: "text-ink-3" },
};

/** Where a call without a result stands: decided ones of a batch wait until the others are decided too. */
export type CallStanding = "running" | "waiting" | "allowed" | "denied";

const OPEN: Record<Exclude<CallStanding, "denied">, { Icon: typeof Check; words: string; className: string }> = {
  running: { Icon: LoaderCircle, words: t.statuses.running, className: "text-ink-3 [&>svg]:animate-spin" },
  waiting: { Icon: Hand, words: t.statuses.waiting, className: "text-warn" },
  allowed: { Icon: Check, words: t.statuses.allowed, className: "text-ink-3" },
};

/** How a call ended; null: it has not yet. */
export function StatusMark({ status, standing }: { status: ResultStatus | null; standing: CallStanding }) {
  const wording = useWording();
  if (!status && standing !== "denied") {
    const { Icon, words, className } = OPEN[standing];
    return (
      <span className={clsx("inline-flex items-center gap-1", className)}>
        <Icon size={14} aria-hidden />
        {standing === "waiting" ? wording(words, people.readers.waits) : words}
      </span>
    );
  }
  const { Icon, words, className } = MARKS[status ?? "denied"] ?? MARKS.error;
  return (
    <span className={clsx("inline-flex items-center gap-1", className)}>
      <Icon size={14} aria-hidden />
      <span className={status === "ok" ? "sr-only" : ""}>{words}</span>
    </span>
  );
}
