// The candidates of a race, side by side: who did it, whether a check proved it, time, cost and changes. A person keeps one.
import { Check } from "lucide-react";
import { DiffView } from "../messages/DiffView";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { seconds } from "../ui/times";
import { JobStatusMark } from "./JobStatusMark";
import type { JobDiff } from "./jobs";

type Candidate = JobDiff["tasks"][number];

interface Props {
  tasks: readonly Candidate[];
  onKeep: (taskId: string) => void;
}

export function RaceCandidates({ tasks, onKeep }: Props) {
  return (
    <ul className="mt-3 grid gap-3 md:grid-cols-2">
      {tasks.map((task) => (
        <li key={task.id} className="flex min-w-0 flex-col rounded-xl border border-line px-3 py-3 text-sm">
          <h3 className="font-semibold">{task.agent ?? task.id}</h3>
          <Facts task={task} />
          {task.result && <p className="mt-2 break-words whitespace-pre-wrap">{task.result}</p>}
          {task.error && <p className="mt-2 break-words text-bad">{task.error.message}</p>}
          {task.conflicts.length > 0 && (
            <p className="mt-2 text-warn">{t.conflicting(task.conflicts.map(({ path }) => path).join(", "))}</p>
          )}
          {task.diff ? (
            <DiffView text={task.diff} label={t.changesOf(task.agent ?? task.id)} />
          ) : (
            <p className="mt-2 text-ink-3">{t.noChanges}</p>
          )}
          {task.status === "completed" && (
            <Button
              look="primary"
              className="mt-auto self-start"
              icon={<Check size={15} aria-hidden />}
              aria-label={t.keepTheWorkOf(task.agent ?? task.id)}
              onClick={() => onKeep(task.id)}
            >
              {t.keepThis}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Facts({ task: { status, claimed, usage } }: { task: Candidate }) {
  return (
    <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5">
      <dt className="text-ink-3">{t.status}</dt>
      <dd>
        <JobStatusMark status={status} />
      </dd>
      {status === "completed" && (
        <>
          <dt className="text-ink-3">{t.check}</dt>
          <dd>{claimed ? t.notProved : t.proved}</dd>
        </>
      )}
      {usage && (
        <>
          <dt className="text-ink-3">{t.time}</dt>
          <dd>{seconds(usage.seconds)}</dd>
          <dt className="text-ink-3">{t.tokens}</dt>
          <dd className="tabular-nums">{usage.tokens.toLocaleString()}</dd>
          <dt className="text-ink-3">{t.cost}</dt>
          <dd className="tabular-nums">{usage.cost === null ? t.unknown : `$${usage.cost.toFixed(4)}`}</dd>
        </>
      )}
    </dl>
  );
}
