import clsx from "clsx";
import { Check, Circle, CircleDashed, CircleDot, type LucideIcon, X } from "lucide-react";

interface Look {
  Icon: LucideIcon;
  words: string;
  className: string;
}

const LOOKS: Record<string, Look> = {
  open: { Icon: Circle, words: "not done", className: "text-ink-3" },
  running: { Icon: CircleDot, words: "at work", className: "text-role" },
  done: { Icon: Check, words: "done", className: "text-good" },
  failed: { Icon: X, words: "failed", className: "text-bad" },
  skipped: { Icon: CircleDashed, words: "skipped", className: "text-warn" },
  claimed: { Icon: Check, words: "the agent says it is done", className: "text-ink-3" },
};

/** How a step stands: sign, colour and word. `brief` keeps the word for who cannot see the sign. */
export function StepMark({ status, brief = false }: { status: string; brief?: boolean }) {
  const { Icon, words, className } = LOOKS[status] ?? { Icon: Circle, words: status, className: "text-ink-3" };
  return (
    <span className={clsx("inline-flex shrink-0 items-center gap-1 text-xs font-medium", className)}>
      <Icon size={15} aria-hidden className={status === "running" ? "breathe" : ""} />
      <span className={brief ? "sr-only" : ""}>{words}</span>
    </span>
  );
}
