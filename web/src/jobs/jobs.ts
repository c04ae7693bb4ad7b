// Jobs over REST: what is read, and what a person can do with one.
import { type QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ChatView } from "../state/reduce";
import { CHATS, useChats } from "../state/sidebar";
import { t } from "../texts/jobs";
import { dollars } from "../texts/language";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

type Schemas = components["schemas"];
export type Job = Schemas["JobResponse"];
export type JobSummary = Schemas["JobSummaryResponse"];
export type Task = Schemas["TaskResponse"];

export const JOBS = ["jobs"];
const POLLED_MS = 3_000; // a job of another chat tells this page nothing by itself

/** Whether nothing more happens by itself. */
export function isOver(status: string): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** What a person should know before approving: how many tasks run side by side, and when changes reach the workspace. */
export function howItRuns(job: Job): string {
  if (job.race.length > 0) return t.racing(job.race.join(", "));
  const together = t.sideBySide(job.parallel_tasks, job.parallel);
  return job.commit === "job" ? `${together} ${t.reviewedFirst}` : together;
}

/** Whether what the job's tasks changed is in the workspace: not before a person kept it, and of a race only one agent's part. */
export function isMerged(job: Job): boolean {
  return job.race.length === 0 && (job.commit !== "job" || job.status === "completed");
}

function doneTasks(job: Job): number {
  return job.tasks.filter(({ status }) => status === "completed").length;
}

/** How far it is, in words: what was skipped, replaced by a new plan, or undone, is said apart. */
export function progressWords(job: Job): string {
  const skipped = job.tasks.filter(({ status }) => status === "skipped").length;
  const done = t.done(doneTasks(job), job.task_count);
  const undone = job.tasks.filter(({ undone_by }) => undone_by).length;
  return [done, ...(skipped ? [t.skippedCount(skipped)] : []), ...(undone ? [t.undoneCount(undone)] : [])].join(", ");
}

/** What of the job waits for a person's decision or answer, as its chat says: the record of the job calls it running. */
export interface JobWaits {
  tasks: ReadonlySet<string | null>;
  question: string | null;
}

/** null if nothing of the job waits, or if its chat is not open. Pure. */
export function waitsOf(jobId: string, view: ChatView | null): JobWaits | null {
  const asked = view?.messages.filter(({ id, job_id }) => view.questions.includes(id) && job_id === jobId) ?? [];
  const approvals = view?.approvals.filter(({ job_id }) => job_id === jobId) ?? [];
  const tasks = new Set([...approvals, ...asked].map(({ task_id }) => task_id));
  return tasks.size > 0 ? { tasks, question: asked[0]?.id ?? null } : null;
}

/** The word for a job or a task that runs, or that waits for a person in the middle of it. */
export function statusNow(status: string, waits: boolean): string {
  return waits && status === "running" ? "waiting" : status;
}

/** The same for a task; one whose changes were undone did not stay completed, and one that no check proved is only claimed. */
export function taskStatus(task: Task, waits: boolean): string {
  if (task.undone_by) return "undone";
  return task.status === "completed" && task.claimed ? "claimed" : statusNow(task.status, waits);
}

/** The newest job of a chat; `moment` moves on whenever there may be news. */
export function useChatJob(chatId: string, moment: number) {
  return useQuery({
    queryKey: [...JOBS, "of", chatId, moment],
    queryFn: async () => {
      const query = { context_id: chatId, limit: 1 };
      const newest = (await given(api.GET("/jobs", { params: { query } }))).jobs[0];
      return newest ? readJob(newest.id) : null;
    },
    placeholderData: (before, asked) => (asked?.queryKey[2] === chatId ? before : undefined),
    gcTime: 10_000, // one entry a moment: the old ones are of no use
  });
}

/** Newest first, of all chats. */
export function useJobs() {
  return useInfiniteQuery({
    queryKey: JOBS,
    queryFn: ({ pageParam }) =>
      given(api.GET("/jobs", { params: { query: { limit: 50, ...(pageParam ? { before: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: POLLED_MS,
  });
}

/** The chats in which a call or a question waits: a running job of one waits for a person. */
export function useAskingChats(): ReadonlySet<string> {
  const { waiting } = useChats("");
  return useMemo(
    () => new Set(waiting.filter(({ state }) => state.startsWith("awaiting")).map(({ id }) => id)),
    [waiting],
  );
}

/** Those that wait for a person, newest first; read again with the list of chats. */
export function useWaitingJobs(): readonly JobSummary[] {
  const asking = useAskingChats();
  const { data } = useQuery({
    queryKey: [...CHATS, "jobs"],
    queryFn: () => given(api.GET("/jobs", { params: { query: { limit: 100 } } })),
    select: ({ jobs }) =>
      jobs.filter(
        ({ status, context_id }) => status.startsWith("awaiting") || (status === "running" && asking.has(context_id)),
      ),
  });
  return data ?? NO_JOBS;
}

const NO_JOBS: readonly JobSummary[] = [];

/** One job, read again with its chat's news. */
export function useJob(jobId: string, moment: number) {
  return useQuery({
    queryKey: [...JOBS, jobId, moment],
    queryFn: () => readJob(jobId),
    placeholderData: (before, asked) => (asked?.queryKey[1] === jobId ? before : undefined),
    gcTime: 10_000,
    retry: false,
  });
}

function readJob(job_id: string): Promise<Job> {
  return given(api.GET("/jobs/{job_id}", { params: { path: { job_id } } }));
}

const at = (job_id: string) => ({ params: { path: { job_id } } });

export async function pauseJob(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/pause", at(jobId)));
}

export async function resumeJob(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/resume", at(jobId)));
}

/** Whether the job stands still and a person may try a failed task again or plan the rest anew. */
export function rests(job: Job): boolean {
  return job.status === "failed" || job.status === "paused" || (job.status === "awaiting_commit" && job.error !== null);
}

export async function replanJob(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/replan", at(jobId)));
}

export async function cancelJob(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/cancel", at(jobId)));
}

export async function retryTask(jobId: string, task_id: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/retry", { ...at(jobId), body: { task_id } }));
}

export type TaskUndo = Schemas["RestoredResponse"];

/** Undoes what the task changed; with `dry_run` it only tells what that would do. */
export async function undoTask(job_id: string, task_id: string, body: Schemas["UndoTaskRequest"]): Promise<TaskUndo> {
  return given(api.POST("/jobs/{job_id}/tasks/{task_id}/undo", { params: { path: { job_id, task_id } }, body }));
}

export type LimitsChange = Schemas["JobLimitsRequest"];

/** Raises what the job and its tasks may use; one that stopped at a limit goes on. */
/** The answer is shown at once: an event may have begun another reading, and until that arrives the page showed the job as it was. */
export async function setLimits(jobId: string, limits: LimitsChange, queries: QueryClient): Promise<void> {
  const job = await given(api.PATCH("/jobs/{job_id}", { ...at(jobId), body: { limits } }));
  queries.setQueriesData<Job>(
    { queryKey: [...JOBS, jobId], predicate: ({ queryKey }) => typeof queryKey[2] === "number" },
    job,
  );
}

export type AuditedTask = Schemas["AuditedTaskResponse"];

/** The plan against what was done, read again with the job's news. */
export function useJobAudit(jobId: string, moment: number) {
  return useQuery({
    queryKey: [...JOBS, jobId, "audit", moment],
    queryFn: () => given(api.GET("/jobs/{job_id}/audit", at(jobId))),
    placeholderData: (before, asked) => (asked?.queryKey[1] === jobId ? before : undefined),
    gcTime: 10_000,
    retry: false,
  });
}

export function costOf({ cost }: Schemas["TaskUsageResponse"]): string {
  return cost === null ? t.unknown : dollars(cost, 4);
}

export type JobDiff = Schemas["JobDiffResponse"];
type NewJob = Partial<Schemas["NewJobRequest"]>;

/** What a job that waits for its review would change now. */
export function useJobDiff(jobId: string) {
  return useQuery({
    queryKey: [...JOBS, jobId, "diff"],
    queryFn: () => given(api.GET("/jobs/{job_id}/diff", at(jobId))),
    retry: false,
  });
}

export async function commitJob(jobId: string, kept: Schemas["JobCommitRequest"]): Promise<void> {
  await given(api.POST("/jobs/{job_id}/commit", { ...at(jobId), body: kept }));
}

export async function dropJob(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/drop", at(jobId)));
}

export async function createJob(chat_id: string, wanted: NewJob): Promise<void> {
  const body = wanted as Schemas["NewJobRequest"];
  await given(api.POST("/context/{chat_id}/jobs", { params: { path: { chat_id } }, body }));
}

export function useAgents() {
  return useQuery({ queryKey: ["agents"], queryFn: async () => (await given(api.GET("/agents"))).agents });
}

export type JobTemplate = Schemas["JobTemplateResponse"];
export type EarlierPlan = Schemas["EarlierPlanResponse"];
const TEMPLATES = ["job-templates"];
const LONGEST_REQUEST = 4_000; // the server compares no more

/** Templates, files that are none, and plans of earlier jobs with a similar request. */
export function useJobTemplates(context_id: string, request: string) {
  const query = { context_id, like: request.slice(0, LONGEST_REQUEST) };
  return useQuery({
    queryKey: [...TEMPLATES, query],
    queryFn: () => given(api.GET("/job-templates", { params: { query } })),
    retry: false,
  });
}

export async function forgetPlan(jobId: string): Promise<void> {
  await given(api.POST("/jobs/{job_id}/forget", at(jobId)));
}
