import clsx from "clsx";
import {
  Check,
  Circle,
  CircleDashed,
  CircleDot,
  CirclePause,
  CircleSlash,
  Hand,
  ListChecks,
  type LucideIcon,
  Speech,
  Undo2,
  X,
} from "lucide-react";
import { useWording } from "../state/me";
import { t } from "../texts/jobs";
import { t as people } from "../texts/people";

interface Look {
  Icon: LucideIcon;
  className: string;
}

const LOOKS: Record<string, Look> = {
  planning: { Icon: ListChecks, className: "text-role" },
  awaiting_approval: { Icon: Hand, className: "text-warn" },
  awaiting_commit: { Icon: Hand, className: "text-warn" },
  waiting: { Icon: Hand, className: "text-warn" },
  running: { Icon: CircleDot, className: "text-role" },
  paused: { Icon: CirclePause, className: "text-warn" },
  claimed: { Icon: Speech, className: "text-ink-3" },
  completed: { Icon: Check, className: "text-good" },
  undone: { Icon: Undo2, className: "text-ink-3" },
  failed: { Icon: X, className: "text-bad" },
  cancelled: { Icon: CircleSlash, className: "text-ink-3" },
  pending: { Icon: Circle, className: "text-ink-3" },
  skipped: { Icon: CircleDashed, className: "text-warn" },
};

/** What waits, waits for others. */
const FOR_READERS: Readonly<Record<string, string>> = {
  awaiting_approval: people.readers.waits,
  awaiting_commit: people.readers.waitsForReview,
  waiting: people.readers.waitsForOthers,
};

/** How a job or a task stands: sign, colour and word. `brief` keeps the word for who cannot see the sign. */
export function JobStatusMark({ status, brief = false }: { status: string; brief?: boolean }) {
  const { Icon, className } = LOOKS[status] ?? { Icon: Circle, className: "text-ink-3" };
  const own = t.statuses[status] ?? status;
  const words = useWording()(own, FOR_READERS[status] ?? own);
  return (
    <span data-colour="blue" className={clsx("inline-flex shrink-0 items-center gap-1 text-xs font-medium", className)}>
      <Icon size={15} aria-hidden className={status === "running" ? "breathe" : ""} />
      {brief ? <span className="sr-only">{`${words}: `}</span> : words}
    </span>
  );
}
