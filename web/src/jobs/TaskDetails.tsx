// One task: where it stands, what it cost, what it reported, and everything that was done for it.

import { useQuery } from "@tanstack/react-query";
import { RotateCcw, X } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { Inline } from "../content/Inline";
import { Markdown } from "../content/Markdown";
import { TurnEvidence } from "../content/TurnEvidence";
import { visible } from "../content/visible";
import { Card } from "../messages/Card";
import { WorkCard } from "../messages/WorkCard";
import { loadEarlier, useLive } from "../state/live";
import type { PlanStanding } from "../state/planStandings";
import type { ChatView } from "../state/reduce";
import { type Row, rowsOf } from "../state/rows";
import { callStanding } from "../state/standing";
import { t } from "../texts/jobs";
import { number } from "../texts/language";
import { Button, IconButton } from "../ui/Button";
import { Outcomes } from "../ui/Outcomes";
import { seconds } from "../ui/times";
import { api, given } from "../wire/client";
import { JobStatusMark } from "./JobStatusMark";
import { costOf, type Task, taskStatus } from "./jobs";

interface Props {
  task: Task;
  view: ChatView | null;
  /** Whether it waits for a person's decision or answer. */
  waits: boolean;
  href: (taskId: string) => string;
  /** What a task is called that this one waits for. */
  nameOf: (taskId: string) => string;
  onRetry: (() => void) | null;
  /** What undoes the task; null while there is nothing to undo. */
  undo: ReactNode;
  onClose: () => void;
}

export function TaskDetails({ task, view, waits, href, nameOf, onRetry, undo, onClose }: Props) {
  return (
    <section aria-labelledby="task-title" className="min-w-0 rounded-2xl border border-line bg-surface">
      <header className="flex items-start gap-3 border-b border-line px-4 py-3">
        <h2 id="task-title" dir="auto" className="min-w-0 flex-1 font-semibold break-words">
          <Inline text={task.description} />
        </h2>
        <IconButton label={t.closeTask} onClick={onClose} className="-my-1 -mr-2">
          <X size={17} aria-hidden />
        </IconButton>
      </header>
      <div className="space-y-4 px-4 py-3 text-sm">
        <Facts task={task} waits={waits} href={href} nameOf={nameOf} />
        {onRetry && (
          <Button needs="POST /jobs/{job_id}/retry" icon={<RotateCcw size={14} aria-hidden />} onClick={onRetry}>
            {t.retry}
          </Button>
        )}
        {undo}
        <Outcomes />
        {task.error && (
          <div role="note" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
            <h3 className="font-medium">{t.error}</h3>
            <p className="break-words whitespace-pre-wrap">{task.error.message}</p>
          </div>
        )}
        {task.result && (
          <div>
            <h3 className="mb-1 font-medium text-ink-2">{t.result}</h3>
            <Markdown text={task.result} />
            {task.claimed && task.evidence?.status !== "failed" && (
              <p className="mt-1 text-xs text-warn">{t.claimed}</p>
            )}
            {task.evidence && (
              <div className="-ml-2">
                <TurnEvidence evidence={task.evidence} />
              </div>
            )}
          </div>
        )}
        {view && <Log task={task.id} view={view} />}
      </div>
    </section>
  );
}

function Facts({ task, waits, href, nameOf }: Pick<Props, "task" | "waits" | "href" | "nameOf">) {
  const { usage } = task;
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      <dt className="text-ink-3">{t.status}</dt>
      <dd>
        <JobStatusMark status={taskStatus(task, waits)} />
      </dd>
      {task.agent && (
        <>
          <dt className="text-ink-3">{t.agent}</dt>
          <dd className="break-words">{task.agent}</dd>
        </>
      )}
      {task.worker && (
        <>
          <dt className="text-ink-3">{t.worker}</dt>
          <dd className="break-words">
            <WorkerName id={task.worker} />
          </dd>
        </>
      )}
      {task.waiting_for && (
        <>
          <dt className="text-ink-3">{t.missing}</dt>
          <dd lang="en" className="break-words text-warn">
            {visible(task.waiting_for)}
          </dd>
        </>
      )}
      {task.dependencies.length > 0 && (
        <>
          <dt className="text-ink-3">{t.waitsFor}</dt>
          <dd className="flex flex-wrap gap-x-3">
            {task.dependencies.map((id) => (
              <a key={id} href={href(id)} dir="auto" className="break-words underline underline-offset-2">
                <Inline text={nameOf(id)} />
              </a>
            ))}
          </dd>
        </>
      )}
      {task.attempt > 1 && (
        <>
          <dt className="text-ink-3">{t.attempt}</dt>
          <dd>{task.attempt}</dd>
        </>
      )}
      {usage && (
        <>
          <dt className="text-ink-3">{t.time}</dt>
          <dd>{seconds(usage.seconds)}</dd>
          <dt className="text-ink-3">{t.tokens}</dt>
          <dd className="tabular-nums">{number(usage.tokens)}</dd>
          <dt className="text-ink-3">{t.cost}</dt>
          <dd className="tabular-nums">{costOf(usage)}</dd>
        </>
      )}
    </dl>
  );
}

/** The machine that the task's commands run on; of a worker that is gone, its id. */
function WorkerName({ id }: { id: string }) {
  const { data: workers } = useQuery({
    queryKey: ["workers"],
    queryFn: async () => (await given(api.GET("/workers"))).workers,
  });
  return visible(workers?.find((worker) => worker.id === id)?.host ?? id);
}

const UNPLANNED: PlanStanding = { state: "approved", approved: null };
const UNASKED = { state: "withdrawn" } as const;
const nothing = () => undefined;

function Log({ task, view }: { task: string; view: ChatView }) {
  const hasEarlier = useLive((live) => live.hasEarlier);
  const rows = useMemo(() => rowsOf(view.messages.filter(({ task_id }) => task_id === task)), [view.messages, task]);
  const waiting = useMemo(() => new Set(view.approvals.map(({ tool_call_id }) => tool_call_id)), [view.approvals]);
  const shown = (row: Row) =>
    row.kind === "work" ? (
      <WorkCard
        calls={row.calls}
        standing={(callId) => callStanding(view, waiting, callId)}
        decidedBy={(callId) => view.decided[callId]?.by ?? ""}
        thought={null}
      />
    ) : (
      <Card
        message={row.message}
        thought={null}
        plan={UNPLANNED}
        question={UNASKED}
        run={null}
        busy
        onExecute={nothing}
        onAnswer={nothing}
        onRevise={nothing}
        onCompare={null}
      />
    );
  return (
    <div>
      <h3 className="mb-2 font-medium text-ink-2">{t.log}</h3>
      {hasEarlier && (
        <Button look="quiet" className="mb-2 -ml-3" onClick={() => void loadEarlier()}>
          {t.earlier}
        </Button>
      )}
      {rows.length === 0 && !hasEarlier && <p className="text-ink-3">{t.noLog}</p>}
      <div className="space-y-3">
        {rows.map((row) => (
          <div key={row.key}>{shown(row)}</div>
        ))}
      </div>
    </div>
  );
}
