// The chat's job above the composer: how far it is, live, with the way to its page. The chat itself shows only what concerns the person.
import clsx from "clsx";
import { Network } from "lucide-react";
import { Inline } from "../content/Inline";
import type { ChatView } from "../state/reduce";
import { t } from "../texts/jobs";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";
import { JobStatusMark } from "./JobStatusMark";
import {
  howItRuns,
  isOver,
  type Job,
  type JobWaits,
  progressWords,
  statusNow,
  taskStatus,
  useChatJob,
  waitsOf,
} from "./jobs";

export function JobDock({ view }: { view: ChatView }) {
  const { data: job, isPending } = useChatJob(view.id, view.news);
  if (isPending && endsWithJob(view)) return <Place />;
  return job && isCurrent(job, view) ? <JobProgress job={job} waits={waitsOf(job.id, view)} /> : null;
}

function endsWithJob({ messages }: ChatView): boolean {
  return messages.findLastIndex(({ job_id }) => job_id) > messages.findLastIndex(isAsked);
}

/** Kept for a job that is on its way: when it comes, nothing above it moves. */
function Place() {
  return (
    <div aria-hidden className={clsx(FRAME, "invisible")}>
      <Fold summary="" disabled>
        {() => null}
      </Fold>
    </div>
  );
}

const FRAME = "mb-2 rounded-2xl border border-line bg-surface px-2 py-1";
const isAsked = ({ role, job_id }: Message) => role === "user" && !job_id;

/** A finished job is shown until the person writes something new. */
function isCurrent(job: Job, view: ChatView): boolean {
  if (!isOver(job.status)) return true;
  const asked = view.messages.findLast(isAsked);
  return !asked || !job.completed_at || asked.created_at < job.completed_at;
}

export function JobProgress({ job, waits }: { job: Job; waits: JobWaits | null }) {
  const running = job.tasks.filter(({ status }) => status === "running");
  const current = running.find(({ id }) => waits?.tasks.has(id)) ?? running[0];
  return (
    <section aria-label={t.jobs} data-colour="blue" className={FRAME}>
      {job.status === "awaiting_approval" && <p className="px-2 pt-1 text-sm text-ink-2">{howItRuns(job)}</p>}
      <Fold
        beside={
          waits?.question && (
            <a
              href={`#/chat/${job.context_id}/${waits.question}`}
              className="shrink-0 px-2 py-2 text-sm font-medium underline underline-offset-2"
            >
              {t.toQuestion}
            </a>
          )
        }
        summary={
          <span className="flex min-w-0 flex-1 items-center gap-2">
            <Network size={15} aria-hidden className="shrink-0 text-role" />
            <JobStatusMark status={statusNow(job.status, waits !== null)} />
            {/* On a phone the way to the question needs the place. */}
            {job.tasks.length > 0 && (
              <span className={clsx("shrink-0 font-medium tabular-nums", waits?.question && "max-sm:hidden")}>
                {progressWords(job)}
              </span>
            )}
            <span className={clsx("min-w-0 truncate text-ink-2", waits?.question && "max-sm:hidden")}>
              <Inline text={current?.description ?? job.request} />
            </span>
          </span>
        }
      >
        {() => (
          <>
            <ol className="max-h-[30vh] space-y-1.5 overflow-y-auto py-1 text-sm max-sm:max-h-[18vh]">
              {job.tasks.map((task) => (
                <li key={task.id} className="flex items-start gap-2">
                  <span className="mt-0.5">
                    <JobStatusMark status={taskStatus(task, !!waits?.tasks.has(task.id))} brief />
                  </span>
                  <a
                    href={`#/jobs/${job.id}/${encodeURIComponent(task.id)}`}
                    className="min-w-0 flex-1 break-words hover:underline"
                  >
                    <Inline text={task.description} />
                  </a>
                </li>
              ))}
            </ol>
            <a
              href={`#/jobs/${job.id}`}
              className="mt-1 mb-1.5 inline-block text-sm font-medium text-ink-2 underline underline-offset-2 hover:text-ink"
            >
              {t.seeJob}
            </a>
          </>
        )}
      </Fold>
    </section>
  );
}
