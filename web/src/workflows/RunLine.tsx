// How far a run is, in one line.

import { Check, CircleSlash, Hand, Workflow, X } from "lucide-react";
import { useWording } from "../state/me";
import type { Run, RunStatus } from "../state/runs";
import { t as people } from "../texts/people";
import { t } from "../texts/workflows";

const LOOKS: Record<RunStatus, { Icon: typeof Workflow; words: string; className: string }> = {
  running: { Icon: Workflow, words: t.states.running, className: "text-ink-2" },
  completed: { Icon: Check, words: t.states.completed, className: "text-good" },
  failed: { Icon: X, words: t.states.failed, className: "text-bad" },
  stopped: { Icon: CircleSlash, words: t.states.stopped, className: "text-ink-2" },
  interrupted: { Icon: CircleSlash, words: t.states.interrupted, className: "text-warn" },
};

export function RunLine({ run, waits = false }: { run: Run; waits?: boolean }) {
  const waiting = useWording()(t.waitsForYou, people.readers.waitsForOthers);
  const { Icon, words, className } =
    waits && run.status === "running" ? { Icon: Hand, words: waiting, className: "text-warn" } : LOOKS[run.status];
  const far = run.status === "completed" ? t.ofSteps(run.of, run.of) : t.stepOf(run.step, run.of);
  return (
    <div role="note" aria-label={t.workflow} className="min-w-0 text-sm text-ink-2">
      <p className="flex items-baseline gap-2">
        <Icon size={14} aria-hidden className={`shrink-0 translate-y-0.5 ${className}`} />
        <span className="min-w-0 break-words">
          <span className="font-mono text-[13px]">{run.name}</span> · {far}
          {run.status !== "completed" && run.title && ` · ${run.title}`} · <span className={className}>{words}</span>
        </span>
      </p>
      {run.error && <p className="mt-0.5 pl-[22px] break-words text-bad">{run.error}</p>}
    </div>
  );
}
