import { useQueryClient } from "@tanstack/react-query";
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { PlanCard } from "../messages/PlanCard";
import type { ChatView } from "../state/reduce";
import { opened } from "../state/reduce";
import { concernsThePerson } from "../state/rows";
import { CHATS } from "../state/sidebar";
import { approval, expectAccessible, message, show } from "../testing/render";
import { api } from "../wire/client";
import { type OpenChat, readPlan } from "../wire/nouns";
import { JobAudit } from "./JobAudit";
import { JobProgress } from "./JobDock";
import { LimitsForm } from "./JobLimits";
import { Controls, JobFailure } from "./JobPage";
import JobsPage from "./JobsPage";
import { JOBS, type Job, progressWords, type Task, waitsOf } from "./jobs";
import { RaceCandidates } from "./RaceCandidates";
import { TaskDetails } from "./TaskDetails";
import { TaskGraph } from "./TaskGraph";
import { UndoPreview } from "./UndoTask";

const task = (id: string, status: string, parts: Partial<Task> = {}): Task =>
  ({
    id,
    description: `Task ${id}`,
    dependencies: [],
    status,
    claimed: false,
    result: null,
    error: null,
    attempt: 1,
    usage: null,
    created_at: "2026-01-02T03:04:05Z",
    started_at: null,
    completed_at: null,
    ...parts,
  }) as Task;

const TASKS = [
  task("1", "completed", { usage: { tokens: 1234, reserved: 0, seconds: 61, cost: 0.0123 } }),
  task("2", "running", { dependencies: ["1"] }),
  task("3", "failed", { dependencies: ["1"], error: { code: "x", message: "No such file.", retryable: true } }),
  task("4", "pending", { dependencies: ["2", "3"] }),
];

const JOB = {
  id: "j1",
  context_id: "chat",
  request: "Tidy the attic",
  status: "running",
  tasks: TASKS,
  task_count: TASKS.length,
  race: [],
} as unknown as Job;

// proves UI-4/2
it("shows every task of the picture as a link, with its status in words", async () => {
  const { container } = show(<TaskGraph tasks={TASKS} chosen="2" href={(id) => `#/jobs/j1/${id}`} />);
  expect(screen.getAllByRole("link").map((link) => link.textContent)).toEqual([
    "completed: Task 1",
    "running: Task 2",
    "failed: Task 3",
    "not started: Task 4",
  ]);
  expect(screen.getByRole("link", { current: true }).getAttribute("href")).toBe("#/jobs/j1/2");
  expect(container.querySelectorAll("path[stroke=currentColor]")).toHaveLength(4); // one line for each dependency
  await expectAccessible(container);
});

// proves UI-4/1
it("tells how far the chat's job is and leads to each task", async () => {
  const { container, rerender } = show(<JobProgress job={JOB} waits={null} />);
  expect(container.textContent).toContain("1 of 4 tasks done");
  expect(container.textContent).toContain("Task 2");
  await userEvent.click(screen.getByRole("button"));
  const list = within(screen.getByRole("list"));
  expect(list.getAllByRole("link")).toHaveLength(4);
  const statuses = () => list.getAllByRole("listitem").map((item) => item.textContent);
  expect(statuses()).toEqual(["completed: Task 1", "running: Task 2", "failed: Task 3", "not started: Task 4"]);
  rerender(<JobProgress job={{ ...JOB, tasks: TASKS.map((one) => ({ ...one, status: "completed" })) }} waits={null} />);
  expect(container.textContent).toContain("4 of 4 tasks done");
  expect(container.textContent).not.toContain("skipped");
  const replaced = TASKS.map((one) => ({ ...one, status: one.id === "3" ? "skipped" : "completed" }) as Task);
  expect(progressWords({ ...JOB, tasks: replaced })).toBe("3 of 4 tasks done, 1 skipped");
  expect(statuses()).toContain("completed: Task 4");
  expect(screen.getByRole("link", { name: "See the job" }).getAttribute("href")).toBe("#/jobs/j1");
  await expectAccessible(container);
});

it("says of a task whose changes were undone that they were, everywhere, and counts it", () => {
  const undone = { ...JOB, tasks: [task("1", "completed", { undone_by: "s1" }), task("2", "completed")] };
  const { container } = show(
    <>
      <TaskGraph tasks={undone.tasks} chosen={null} href={(id) => `#${id}`} />
      <TaskDetails
        task={undone.tasks[0]!}
        view={null}
        waits={false}
        href={(id) => id}
        nameOf={(id) => id}
        onRetry={null}
        undo={null}
        onClose={() => undefined}
      />
    </>,
  );
  expect(screen.getAllByRole("link").map((link) => link.textContent)).toEqual(["undone: Task 1", "completed: Task 2"]);
  expect(container.querySelector("dd")?.textContent).toBe("undone");
  expect(progressWords(undone)).toBe("2 of 4 tasks done, 1 undone");
});

const asked = (parts: Partial<ChatView>) =>
  ({ messages: [], approvals: [], questions: [], ...parts }) as unknown as ChatView;

it("says that a job waits for you while a task asks, and leads to the question", async () => {
  const question = message({ id: "q1", message_type: "question", job_id: "j1", task_id: "2" });
  const waits = waitsOf("j1", asked({ messages: [question], questions: ["q1"] }));
  const { container } = show(
    <>
      <JobProgress job={JOB} waits={waits} />
      <TaskGraph tasks={TASKS} chosen={null} href={(id) => `#${id}`} waits={waits?.tasks} />
      <Controls job={JOB} waits={waits} act={async () => true} />
    </>,
  );
  expect(screen.getByRole("button", { name: /waiting for you/ }).textContent).toContain("Task 2");
  for (const name of ["Go to the question", "Answer the question in the chat"])
    expect(screen.getByRole("link", { name }).getAttribute("href")).toBe("#/chat/chat/q1");
  expect(screen.getByRole("link", { name: /^waiting for you: ?Task 2/ })).toBeTruthy();
  await expectAccessible(container);
});

it("says that a job waits while a call of one of its tasks does, and not for what others ask", () => {
  const call = approval({ job_id: "j1", task_id: "2" });
  expect(waitsOf("j1", asked({ approvals: [call] }))).toEqual({ tasks: new Set(["2"]), question: null });
  expect(waitsOf("j1", asked({ approvals: [{ ...call, job_id: null }], questions: ["q"] }))).toBeNull();
  expect(waitsOf("j1", null)).toBeNull();
  show(<Controls job={JOB} waits={waitsOf("j1", asked({ approvals: [call] }))} act={async () => true} />);
  expect(screen.getByRole("link", { name: "Decide in the chat" }).getAttribute("href")).toBe("#/chat/chat");
});

it("offers to plan the rest anew where a job rests, and not while it runs, is done, or is a race", () => {
  const shown = (parts: Partial<Job>) => {
    const { unmount } = show(<Controls job={{ ...JOB, ...parts }} waits={null} act={async () => true} />);
    const offered = screen.queryByRole("button", { name: "Plan the rest anew" }) !== null;
    unmount();
    return offered;
  };
  expect((["failed", "paused"] as const).map((status) => shown({ status }))).toEqual([true, true]);
  const error = { code: "tasks_failed", message: "These tasks did not complete: 3.", retryable: true };
  expect([error, null].map((error) => shown({ status: "awaiting_commit", error }))).toEqual([true, false]);
  expect((["running", "completed", "cancelled", "planning"] as const).some((status) => shown({ status }))).toBe(false);
  expect(shown({ status: "failed", race: ["a", "b"] })).toBe(false);
});

it("lists a running job as waiting while its chat asks", () => {
  const chat = { id: "chat", state: "awaiting_answer", waiting: "question", last_seq: 1 };
  const jobs = ["chat", "other"].map((context_id) => ({ ...JOB, id: context_id, context_id, request: context_id }));
  function Listed() {
    const queries = useQueryClient();
    queries.setQueryData([...CHATS, "waiting", ""], { contexts: [chat], next: null });
    queries.setQueryData(JOBS, { pages: [{ jobs, next: null }], pageParams: [""] });
    return <JobsPage onSidebar={() => undefined} />;
  }
  show(<Listed />);
  expect(screen.getByRole("link", { name: /^chat/ }).textContent).toContain("waiting for you");
  expect(screen.getByRole("link", { name: /^other/ }).textContent).toContain("running");
});

const details = (task: Task, onRetry: (() => void) | null, view: ChatView | null = null) => (
  <TaskDetails
    task={task}
    view={view}
    waits={false}
    href={(id) => `#${id}`}
    nameOf={(id) => `Task ${id}`}
    onRetry={onRetry}
    undo={null}
    onClose={() => undefined}
  />
);

it("shows what a task cost, what went wrong, and lets it be tried again", async () => {
  const retry = vi.fn();
  const { container, rerender } = show(details(TASKS[2]!, retry));
  expect(container.textContent).toContain("No such file.");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(retry).toHaveBeenCalledOnce();
  await expectAccessible(container);
  rerender(details(TASKS[0]!, null));
  expect(container.textContent).toContain("1 min 1 s");
  expect(container.textContent).toContain("$0.0123");
  expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
});

// proves UI-4/3, UI-4/4
it("shows a task's own messages and tool calls in its log, and no other task's", () => {
  const chat = { id: "chat", state: "working", config: { agent_role: "actor" }, waiting_for: { question: null } };
  const created = (taskId: string, path: string) => [
    message({
      id: `call ${path}`,
      task_id: taskId,
      message_type: "tool_call",
      payload: { id: path, tool: "create_file", parameters: { path, content: "x" } },
    }),
    message({
      id: `result ${path}`,
      task_id: taskId,
      message_type: "tool_result",
      payload: { tool_call_id: path, status: "ok" },
    }),
  ];
  const messages = [
    message({ id: "said", task_id: "1", content: "Reading first" }),
    ...created("1", "mine.txt"),
    ...created("2", "other.txt"),
    message({ id: "chat", content: "Of the chat" }),
  ];
  const view = opened(chat as unknown as OpenChat, messages, [], 1);
  const { container } = show(details(TASKS[0]!, null, view));
  expect(container.textContent).toContain("Reading first");
  expect(screen.getByRole("button", { name: /Created mine.txt/ })).toBeTruthy();
  expect(container.textContent).not.toContain("other.txt");
  expect(container.textContent).not.toContain("Of the chat");
});

it("writes out marks that would mislead in a task's description", () => {
  const odd = task("1", "pending", { description: "delete \u202Egnp.exe" });
  const noHref = (id: string) => `#${id}`;
  const { container } = show(<TaskGraph tasks={[odd]} chosen={null} href={noHref} />);
  expect(container.textContent).toContain("delete ⟨U+202E⟩gnp.exe");
  show(
    <TaskDetails
      task={odd}
      view={null}
      waits={false}
      href={noHref}
      nameOf={noHref}
      onRetry={null}
      undo={null}
      onClose={() => undefined}
    />,
  );
  expect(screen.getByRole("heading", { name: "delete ⟨U+202E⟩gnp.exe" })).toBeTruthy();
});

// proves UI-4/4, UI-4/5
it("keeps what workers do out of the chat, but not their questions", () => {
  for (const type of ["text", "plan", "question"] as const) {
    expect(concernsThePerson(message({ job_id: "j1", message_type: type }))).toBe(true); // request, plan, final response
  }
  for (const type of [
    "task_assignment",
    "task_execution",
    "task_result",
    "tool_call",
    "tool_result",
    "text",
  ] as const) {
    expect(concernsThePerson(message({ job_id: "j1", task_id: "1", message_type: type }))).toBe(false);
  }
  expect(concernsThePerson(message({ task_id: "1", message_type: "question" }))).toBe(true);
});

it("shows the candidates of a race side by side, and keeps the chosen one", async () => {
  const one = (agent: string, parts: object = {}) => ({
    agent,
    task_ids: [`a@${agent}`, `b@${agent}`],
    status: "completed" as const,
    completed: 2,
    proved: 1,
    result: null,
    error: null,
    usage: { tokens: 10, reserved: 0, seconds: 2, cost: null },
    diff: `--- /dev/null\n+++ b/${agent}.txt\n@@ -0,0 +1 @@\n+${agent}\n`,
    files: [],
    conflicts: [],
    ...parts,
  });
  const keep = vi.fn();
  const { container } = show(
    <RaceCandidates
      candidates={[
        one("quick", { task_ids: ["a@quick"], completed: 1 }),
        one("careful", { task_ids: ["a@careful"], completed: 1, proved: 0 }),
        one("lost", { status: "failed", completed: 2 }),
      ]}
      onKeep={keep}
    />,
  );
  expect(container.textContent).toContain("A check proved it.");
  expect(container.textContent).toContain("Not proved by a check");
  expect(container.textContent).toContain("A check proved 1 of 2 tasks.");
  expect(screen.getAllByRole("button", { name: /Keep this one/ })).toHaveLength(2);
  await userEvent.click(screen.getByRole("button", { name: "Keep this one: the work of careful" }));
  expect(keep).toHaveBeenCalledWith("careful");
  await expectAccessible(container);
});

const PLAN = readPlan({ goal: "Tidy", steps: [{ id: "1", action: "Sweep" }] })!;

it.each([
  [null, ["chat", "job"]],
  ["j1", ["job"]],
])("runs a plan in the chat or as a job; one made for a job only as that job (%s)", async (jobId, ways) => {
  const execute = vi.fn();
  show(
    <PlanCard
      message={message({ message_type: "plan", job_id: jobId })}
      plan={PLAN}
      state="open"
      thought={null}
      busy={false}
      onExecute={execute}
      onRevise={() => undefined}
      onCompare={null}
    />,
  );
  for (const name of ["Execute plan", "Run as a job"]) {
    const button = screen.queryByRole("button", { name });
    if (button) await userEvent.click(button);
  }
  expect(execute.mock.calls.map(([, run]) => run)).toEqual(ways);
});

it("names the tasks that failed by their words, and leads to them", async () => {
  const error = { code: "tasks_failed", message: "These tasks did not complete: 3.", retryable: true };
  const { container } = show(<JobFailure job={{ ...JOB, status: "failed", error } as Job} href={(id) => `#${id}`} />);
  expect(screen.getByRole("link", { name: "Task 3" }).getAttribute("href")).toBe("#3");
  expect(container.textContent).not.toContain("complete: 3");
  await expectAccessible(container);
});

it("undoes a task only once each later change of the same lines was given up by name", async () => {
  const onUndo = vi.fn();
  const would = {
    restored: ["a.txt"],
    deleted: [],
    counts: { restored: 1, deleted: 0, kept: 0, unkept: 0 },
    conflicts: ["a.txt"],
    diff: "",
  } as unknown as Parameters<typeof UndoPreview>[0]["would"];
  const { container } = show(<UndoPreview would={would} onUndo={onUndo} onBack={() => undefined} />);
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Undo this task" });
  expect(button.disabled).toBe(true);
  await userEvent.click(screen.getByRole("checkbox", { name: /^Undo it in a\.txt/ }));
  await userEvent.click(button);
  expect(onUndo).toHaveBeenCalledWith(["a.txt"]);
  await expectAccessible(container);
});

it("raises only the limits that were changed, and takes no limit that is none", async () => {
  const onSave = vi.fn();
  const job = { ...JOB, limits: { job: { tokens: 4000 }, task: { seconds: 60 } }, usage: null } as unknown as Job;
  const { container } = show(<LimitsForm job={job} onSave={onSave} onCancel={() => undefined} />);
  const ofJob = within(screen.getByRole("group", { name: "The whole job" }));
  const tokens = ofJob.getByRole("textbox", { name: "Tokens" });
  await userEvent.clear(tokens);
  await userEvent.type(tokens, "-1");
  const save = screen.getByRole<HTMLButtonElement>("button", { name: "Save the limits" });
  expect(save.disabled).toBe(true);
  await userEvent.clear(tokens);
  await userEvent.type(tokens, "9000");
  await expectAccessible(container);
  await userEvent.click(save);
  expect(onSave).toHaveBeenCalledWith({ job: { tokens: 9000 }, task: {} });
});

it("says which files of a task the review left out, and of a task without others that it was", async () => {
  const audited = (id: string, left_out: string[]) => ({
    id,
    agent: null,
    status: "claimed",
    intended: { action: `Write ${id}` },
    files: [`${id}.txt`, `${id}.md`],
    left_out,
    undone_by: null as string | null,
    commands: [],
    unplanned: [],
    untouched: [],
    usage: null,
  });
  const undone = { ...audited("d", []), undone_by: "s1" };
  const steps = [audited("a", []), audited("b", ["b.txt"]), audited("c", ["c.txt", "c.md"]), undone];
  vi.spyOn(api, "GET").mockResolvedValue({ data: { steps, usage: null }, response: new Response() } as never);
  const { container } = show(<JobAudit jobId="j" moment={0} href={(id) => `#${id}`} />);
  const rows = (await screen.findAllByRole("row")).slice(1).map((row) => within(row).getAllByRole("cell"));
  const done = "the agent says it is done";
  expect(rows.map(([, status]) => status!.textContent)).toEqual([done, done, "left out", "undone"]);
  expect(rows.map(([, , files]) => files!.textContent)).toEqual([
    "a.txta.md",
    "b.txt(left out)b.md",
    "c.txt(left out)c.md(left out)",
    "d.txtd.md",
  ]);
  await expectAccessible(container);
  vi.restoreAllMocks();
});
