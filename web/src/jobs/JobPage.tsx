// One job, live: its request, its tasks as a list and as a picture, one task in full, and the buttons that steer it.

import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { MessageSquare, Pause, Play, RefreshCw, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { Inline } from "../content/Inline";
import { Markdown } from "../content/Markdown";
import { openChat, useLive } from "../state/live";
import { useMay } from "../state/me";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import { SidebarButton } from "../ui/SidebarButton";
import { Refusal } from "../wire/client";
import { JobAudit } from "./JobAudit";
import { JobChanges } from "./JobChanges";
import { JobLimits } from "./JobLimits";
import { JobStatusMark } from "./JobStatusMark";
import {
  cancelJob,
  howItRuns,
  isOver,
  JOBS,
  type Job,
  type JobWaits,
  pauseJob,
  progressWords,
  replanJob,
  rests,
  resumeJob,
  retryTask,
  statusNow,
  taskStatus,
  useJob,
  waitsOf,
} from "./jobs";
import { TaskDetails } from "./TaskDetails";
import { TaskGraph } from "./TaskGraph";
import { UndoTask } from "./UndoTask";

interface Props {
  jobId: string;
  taskId: string | null;
  onSidebar: () => void;
}

export default function JobPage({ jobId, taskId, onSidebar }: Props) {
  const view = useLive((live) => live.view);
  const { data: job, error } = useJob(jobId, view?.news ?? 0);
  useChatOf(job?.context_id ?? null);
  const waits = waitsOf(jobId, view);
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col overflow-y-auto">
      <header className="sticky top-0 z-10 flex h-14 shrink-0 items-center gap-2 border-b border-line bg-paper px-2 sm:px-4">
        <SidebarButton onClick={onSidebar} />
        <p className="min-w-0 truncate text-[15px] font-semibold">
          <a href="#/jobs" className="text-ink-3 hover:text-ink">
            {t.jobs}
          </a>
        </p>
        {job && (
          <span className="ml-auto flex shrink-0">
            <JobStatusMark status={statusNow(job.status, waits !== null)} />
          </span>
        )}
      </header>
      {job && <JobDetails job={job} taskId={taskId} waits={waits} />}
      {!job && !error && (
        <p role="status" className="late m-auto text-sm text-ink-3">
          {t.opening}
        </p>
      )}
      {!job && error && (
        <div role="alert" className="m-auto max-w-sm px-6 text-center">
          <p className="font-semibold">{t.notFound}</p>
          <p className="mt-2 text-sm text-ink-2">{error instanceof Refusal ? error.message : t.jobsFailed}</p>
        </div>
      )}
    </main>
  );
}

function JobDetails({ job, taskId, waits }: { job: Job; taskId: string | null; waits: JobWaits | null }) {
  const live = useLive();
  const view = live.chatId === job.context_id ? live.view : null;
  const queries = useQueryClient();
  const act = async (done: Promise<void>) => {
    const isDone = await attempt(done);
    void queries.invalidateQueries({ queryKey: CHATS }); // with it the jobs that wait for somebody
    await queries.invalidateQueries({ queryKey: [...JOBS, job.id] });
    return isDone;
  };
  const href = (id: string) => `#/jobs/${job.id}/${encodeURIComponent(id)}`;
  const task = job.tasks.find(({ id }) => id === taskId) ?? null;
  const arrives = task !== null && view === null && live.problem === null; // how long its details are is not known yet
  const canUndo = task?.status === "completed" && !task.undone_by && isOver(job.status);
  const canRetry = task?.status === "failed" && rests(job);
  return (
    <div className="mx-auto w-full max-w-5xl space-y-6 px-4 pt-5 pb-16 sm:px-6">
      <section aria-label={t.request}>
        <h1 dir="auto" className="break-words">
          <Inline text={job.request} />
        </h1>
        {!isOver(job.status) && <p className="mt-2 text-sm text-ink-2">{howItRuns(job)}</p>}
        <Controls job={job} waits={waits} act={act} />
        <Outcomes page className="mt-3" />
      </section>
      {job.error && <JobFailure job={job} href={href} />}
      {job.status === "awaiting_commit" && <JobChanges job={job} act={act} />}
      {job.tasks.length > 0 && (
        <section aria-labelledby="job-tasks">
          <h2 id="job-tasks" className="mb-2 font-semibold">
            {t.tasks} <span className="text-sm font-normal text-ink-2">{progressWords(job)}</span>
          </h2>
          <TaskGraph tasks={job.tasks} chosen={taskId} href={href} waits={waits?.tasks} />
        </section>
      )}
      <div className="grid items-start gap-6 lg:grid-cols-[20rem_1fr]">
        <Checklist job={job} chosen={taskId} href={href} waits={waits} />
        {task ? (
          <TaskDetails
            key={task.id}
            task={task}
            view={view}
            waits={waits?.tasks.has(task.id) ?? false}
            href={href}
            nameOf={(id) => job.tasks.find((one) => one.id === id)?.description ?? id}
            onRetry={canRetry ? () => act(retryTask(job.id, task.id)) : null}
            undo={canUndo && <UndoTask jobId={job.id} taskId={task.id} act={act} />}
            onClose={() => (location.hash = `#/jobs/${job.id}`)}
          />
        ) : (
          job.tasks.length > 0 && <p className="text-sm text-ink-3 max-lg:hidden">{t.chooseTask}</p>
        )}
      </div>
      <div className={clsx("space-y-6", arrives && "invisible")}>
        {job.final_response && (
          <section aria-labelledby="job-answer">
            <h2 id="job-answer" className="mb-2 font-semibold">
              {t.answer}
            </h2>
            <Markdown text={job.final_response} />
          </section>
        )}
        {job.tasks.length > 0 && (isOver(job.status) || job.status === "awaiting_commit") && (
          <JobAudit jobId={job.id} moment={live.view?.news ?? 0} href={href} />
        )}
      </div>
    </div>
  );
}

/** Failed tasks by their words, each a link to its Retry: an id stands nowhere else on this page. */
export function JobFailure({ job, href }: { job: Job; href: (id: string) => string }) {
  const failed = job.error?.code === "tasks_failed" ? job.tasks.filter(({ status }) => status === "failed") : [];
  if (failed.length === 0)
    return (
      <p role="note" lang="en" className="rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad">
        {job.error?.message}
      </p>
    );
  return (
    <div role="note" className="rounded-lg bg-bad-soft px-3 py-2 text-sm text-bad">
      <p>{t.tasksFailed(failed.length)}</p>
      <ul className="mt-1 list-disc space-y-1 pl-5">
        {failed.map((task) => (
          <li key={task.id}>
            <a href={href(task.id)} dir="auto" className="break-words underline underline-offset-2">
              <Inline text={task.description} />
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ChecklistProps {
  job: Job;
  chosen: string | null;
  href: (id: string) => string;
  waits: JobWaits | null;
}

function Checklist({ job, chosen, href, waits }: ChecklistProps) {
  return (
    <ol aria-label={t.tasks} className="space-y-0.5 text-sm">
      {job.tasks.map((task) => (
        <li key={task.id}>
          <a
            href={href(task.id)}
            aria-current={task.id === chosen ? "true" : undefined}
            className="flex min-h-9 thumb:min-h-11 items-start gap-2 rounded-lg px-2 py-1.5 hover:bg-sunken aria-[current]:bg-sunken"
          >
            <span className="mt-0.5">
              <JobStatusMark status={taskStatus(task, !!waits?.tasks.has(task.id))} brief />
            </span>
            <span dir="auto" className="min-w-0 flex-1 break-words">
              <Inline text={task.description} />
            </span>
          </a>
        </li>
      ))}
    </ol>
  );
}

interface ControlsProps {
  job: Job;
  waits: JobWaits | null;
  act: (done: Promise<void>) => Promise<boolean>;
}

export function Controls({ job, waits, act }: ControlsProps) {
  const [asking, setAsking] = useState(false);
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2">
      {job.status === "running" && (
        <Button
          needs="POST /jobs/{job_id}/pause"
          icon={<Pause size={14} aria-hidden />}
          title={t.pauseHint}
          onClick={() => act(pauseJob(job.id))}
        >
          {t.pause}
        </Button>
      )}
      {job.status === "paused" && (
        <Button
          needs="POST /jobs/{job_id}/resume"
          look="primary"
          icon={<Play size={14} aria-hidden />}
          onClick={() => act(resumeJob(job.id))}
        >
          {t.resume}
        </Button>
      )}
      {rests(job) && job.race.length === 0 && (
        <Button
          needs="POST /jobs/{job_id}/replan"
          icon={<RefreshCw size={14} aria-hidden />}
          title={t.replanHint}
          onClick={() => act(replanJob(job.id))}
        >
          {t.replan}
        </Button>
      )}
      {!isOver(job.status) && (
        <Button
          needs="POST /jobs/{job_id}/cancel"
          look="danger"
          icon={<Square size={13} aria-hidden />}
          onClick={() => setAsking(true)}
        >
          {t.cancel}
        </Button>
      )}
      {job.status !== "completed" && job.status !== "cancelled" && <JobLimits job={job} act={act} />}
      <ChatLink job={job} waits={waits} />
      <Dialog title={t.cancelQuestion} open={asking} onClose={() => setAsking(false)}>
        <p className="text-sm text-ink-2">{t.cancelHint}</p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>{t.keepRunning}</Button>
          <Button
            look="danger"
            onClick={() => {
              setAsking(false);
              act(cancelJob(job.id));
            }}
          >
            {t.cancel}
          </Button>
        </div>
      </Dialog>
    </div>
  );
}

/** To what waits in the chat, said to who may decide it; else to the chat. */
function ChatLink({ job, waits }: { job: Job; waits: JobWaits | null }) {
  const approves = useMay("POST /context/{chat_id}/plans/{message_id}/approve");
  const answers = useMay("POST /context/{chat_id}/questions/{message_id}/answer");
  const plan = job.status === "awaiting_approval" ? job.plan_id : null;
  const message = plan ?? waits?.question;
  const offered =
    job.status === "awaiting_approval" && approves
      ? t.approveInChat
      : waits && answers
        ? waits.question
          ? t.answerInChat
          : t.decideInChat
        : t.openChat;
  return (
    <a
      href={`#/chat/${job.context_id}${message ? `/${message}` : ""}`}
      className="inline-flex min-h-9 thumb:min-h-11 items-center gap-1.5 rounded-lg px-3 text-sm font-medium text-ink-2 hover:bg-sunken hover:text-ink"
    >
      <MessageSquare size={15} aria-hidden />
      {offered}
    </a>
  );
}

/** The job's chat is followed while the job is looked at: its events say when there is news. */
function useChatOf(chatId: string | null): void {
  useEffect(() => {
    if (!chatId) return;
    void openChat(chatId);
    return () => void openChat(null);
  }, [chatId]);
}
