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

/** Where a call without a result stands: decided ones of a batch wait until the others are decided too. */
export type CallStanding = "running" | "waiting" | "allowed" | "denied";

const OPEN: Record<Exclude<CallStanding, "denied">, { Icon: typeof Check; words: string; className: string }> = {
  running: { Icon: LoaderCircle, words: "running", className: "text-ink-3 [&>svg]:animate-spin" },
  waiting: { Icon: Hand, words: "waits for you", className: "text-warn" },
  allowed: { Icon: Check, words: "allowed", className: "text-ink-3" },
};

/** How a call ended; null: it has not yet. */
export function StatusMark({ status, standing }: { status: ResultStatus | null; standing: CallStanding }) {
  if (!status && standing !== "denied") {
    const { Icon, words, className } = OPEN[standing];
    return (
      <span className={clsx("inline-flex items-center gap-1", className)}>
        <Icon size={14} aria-hidden />
        {words}
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
