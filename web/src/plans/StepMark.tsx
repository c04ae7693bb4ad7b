import clsx from "clsx";
import { Check, Circle, CircleDashed, CircleDot, CircleSlash, type LucideIcon, X } from "lucide-react";

interface Look {
  Icon: LucideIcon;
  words: string;
  className: string;
}

const LOOKS: Record<string, Look> = {
  pending: { Icon: Circle, words: "to do", className: "text-ink-3" },
  running: { Icon: CircleDot, words: "at work", className: "text-role" },
  completed: { Icon: Check, words: "done", className: "text-good" },
  failed: { Icon: X, words: "failed", className: "text-bad" },
  interrupted: { Icon: CircleSlash, words: "interrupted", className: "text-warn" },
  skipped: { Icon: CircleDashed, words: "not done", className: "text-warn" },
  claimed: { Icon: Check, words: "said to be done", className: "text-ink-3" },
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
