import clsx from "clsx";
import { Ban, Check, CircleSlash, Hand, LoaderCircle, X } from "lucide-react";
import type { ResultStatus } from "../wire/nouns";

const MARKS: Record<ResultStatus, { Icon: typeof Check; words: string; className: string }> = {
  ok: { Icon: Check, words: "done", className: "text-good" },
  error: { Icon: X, words: "failed", className: "text-bad" },
  refused: { Icon: Ban, words: "refused", className: "text-bad" },
  denied: { Icon: Ban, words: "denied", className: "text-warn" },
  interrupted: { Icon: CircleSlash, words: "interrupted", className: "text-warn" },
  cancelled: { Icon: CircleSlash, words: "cancelled", className: "text-ink-3" },
};

/** How a call ended; null: it has not yet. */
export function StatusMark({ status, waiting }: { status: ResultStatus | null; waiting: boolean }) {
  if (!status) {
    return (
      <span className={clsx("inline-flex items-center gap-1", waiting ? "text-warn" : "text-ink-3")}>
        {waiting ? <Hand size={14} aria-hidden /> : <LoaderCircle size={14} aria-hidden className="animate-spin" />}
        {waiting ? "waits for you" : "running"}
      </span>
    );
  }
  const { Icon, words, className } = MARKS[status] ?? MARKS.error;
  return (
    <span className={clsx("inline-flex items-center gap-1", className)}>
      <Icon size={14} aria-hidden />
      <span className={status === "ok" ? "sr-only" : ""}>{words}</span>
    </span>
  );
}
