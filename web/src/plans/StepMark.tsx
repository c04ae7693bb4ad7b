import clsx from "clsx";
import { Check, Circle, CircleDashed, CircleDot, type LucideIcon, Speech, X } from "lucide-react";
import { t } from "../texts/plans";

interface Look {
  Icon: LucideIcon;
  words: string;
  className: string;
}

const LOOKS: Record<string, Look> = {
  open: { Icon: Circle, words: t.notDone, className: "text-ink-3" },
  running: { Icon: CircleDot, words: t.atWork, className: "text-role" },
  done: { Icon: Check, words: t.states.done, className: "text-good" },
  failed: { Icon: X, words: t.states.failed, className: "text-bad" },
  skipped: { Icon: CircleDashed, words: t.states.skipped, className: "text-warn" },
  claimed: { Icon: Speech, words: t.theAgentSaysItIs, className: "text-ink-3" },
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
