// The candidates of a race, side by side: who did it, whether a check proved it, time, cost and changes. A person keeps one.
import { Check } from "lucide-react";
import { DiffView } from "../content/DiffView";
import { t } from "../texts/jobs";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { seconds } from "../ui/times";
import { JobStatusMark } from "./JobStatusMark";
import { costOf, type JobDiff } from "./jobs";

type Candidate = JobDiff["candidates"][number];

interface Props {
  candidates: readonly Candidate[];
  onKeep: (agent: string) => void;
}

export function RaceCandidates({ candidates, onKeep }: Props) {
  return (
    <ul className="mt-3 grid gap-3 md:grid-cols-2">
      {candidates.map((one) => (
        <li key={one.agent} className="flex min-w-0 flex-col rounded-xl border border-line px-3 py-3 text-sm">
          <h3 className="font-semibold break-words">{one.agent}</h3>
          <Facts one={one} />
          {one.result && <p className="mt-2 break-words whitespace-pre-wrap">{one.result}</p>}
          {one.error && <p className="mt-2 break-words text-bad">{one.error.message}</p>}
          {one.conflicts.length > 0 && (
            <p className="mt-2 text-warn">{t.conflicting(one.conflicts.map(({ path }) => path).join(", "))}</p>
          )}
          {one.diff ? (
            <DiffView text={one.diff} label={t.changesOf(one.agent)} />
          ) : (
            <p className="mt-2 text-ink-3">{t.noChanges}</p>
          )}
          {one.status === "completed" && (
            <Button
              needs="POST /jobs/{job_id}/commit"
              look="primary"
              className="mt-auto self-start"
              icon={<Check size={15} aria-hidden />}
              aria-label={t.keepTheWorkOf(one.agent)}
              onClick={() => onKeep(one.agent)}
            >
              {t.keepThis}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Facts({ one: { status, completed, proved, task_ids, usage } }: { one: Candidate }) {
  return (
    <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5">
      <dt className="text-ink-3">{t.status}</dt>
      <dd>
        <JobStatusMark status={status} />
      </dd>
      {task_ids.length > 1 && (
        <>
          <dt className="text-ink-3">{t.tasks}</dt>
          <dd>{t.done(completed, task_ids.length)}</dd>
        </>
      )}
      {completed > 0 && (
        <>
          <dt className="text-ink-3">{t.check}</dt>
          <dd>{task_ids.length > 1 ? t.provedOf(proved, completed) : proved ? t.proved : t.notProved}</dd>
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
