// The one place where a chat's view changes: pure, over the events of its stream. Events that were seen already change nothing.
// What a late reader gets (messages in the place of their deltas) leads to the same view as having watched.
import {
  type Approval,
  type ChatState,
  type DecidedCall,
  type EndReason,
  loose,
  type Message,
  type OpenChat,
  type Queued,
  readPersonCommand,
  readQueued,
  text,
  type WireEvent,
} from "../wire/nouns";
import { codePoints, type Delta, type Draft, extended, NOTHING, type Said, withDelta } from "./drafts";
import { type PlanProgress, type PlanStandings, withPlan, withProgress } from "./planStandings";
import { type Run, type Runs, readRun } from "./runs";

export type Autonomy = "ask" | "edits" | "sandboxed";

export interface Stopped {
  reason: "limit" | "interrupted" | "blocked";
  role: string;
  /** The model's context is full: compacting helps. */
  full: boolean;
}

export interface ChatView {
  id: string;
  lastSeq: number;
  /** The number of the last event that was no delta: what is read over REST may have changed with it. */
  news: number;
  state: ChatState;
  role: string;
  messages: readonly Message[];
  drafts: readonly Draft[];
  /** What each call that runs has printed so far; its result takes the place of it. */
  printed: Readonly<Record<string, Said>>;
  /** The same of the person's own commands, which belong to no turn. */
  ownPrinted: Readonly<Record<string, Said>>;
  approvals: readonly Approval[];
  /** What was decided of calls whose batch is not decided yet. */
  decided: Readonly<Record<string, { state: "allowed" | "denied"; by: string }>>;
  /** The questions that wait, in the order they were asked: several tasks of a job may ask. */
  questions: readonly string[];
  plans: PlanStandings;
  /** The number of the last event that told of usage: the meter reads the sums again with it. */
  spent: number;
  /** How many steps the turn has before it pauses; null if nobody said so. */
  stepsLeft: number | null;
  turn: { id: string; startedAt: string } | null;
  /** How the turn before ended; null while one runs, or if nobody watched. */
  ending: EndReason | null;
  /** Why the last turn can be continued, and the role that it had; null if it cannot. */
  stopped: Stopped | null;
  /** How much passes without asking in this chat. */
  autonomy: Autonomy;
  /** Which plan step a call belongs to, as the server told. */
  steps: Readonly<Record<string, string>>;
  /** How far each workflow is, as the server told. */
  runs: Runs;
  /** What was written while the agent works and is not sent yet, in the order in which it will be. */
  queue: readonly Queued[];
  /** How far the restore is that runs now. */
  restoring: Restoring | null;
  /** The model's server failed, and is asked again after a wait; null once it answers. */
  retry: ModelRetry | null;
  /** The MCP servers that are being started, and that the turn waits for. */
  starting: readonly string[];
}

export type ModelRetry = Extract<WireEvent, { type: "model-retry" }>["retry"];

export interface Restoring {
  done: number;
  total: number;
}

export function opened(
  chat: OpenChat,
  messages: readonly Message[],
  approvals: readonly Approval[],
  lastSeq: number,
  decided: readonly DecidedCall[] = [],
  plans: readonly PlanProgress[] = [],
): ChatView {
  return {
    id: chat.id,
    lastSeq,
    news: lastSeq,
    state: chat.state,
    role: chat.config.agent_role,
    messages,
    drafts: [],
    printed: {},
    ownPrinted: {},
    approvals,
    decided: Object.fromEntries(
      decided.map(({ tool_call_id, state, decided_by }) => [tool_call_id, { state, by: decided_by ?? "" }]),
    ),
    questions: chat.waiting_for.questions,
    plans: withProgress({}, plans),
    spent: lastSeq,
    stepsLeft: chat.steps_left ?? null,
    turn: chat.state === "idle" ? null : turnIn(messages),
    ending: null,
    stopped: chat.continuable
      ? {
          reason: chat.continuable.reason,
          role: chat.config.agent_role,
          full: chat.continuable.code === CONTEXT_FULL,
        }
      : null,
    autonomy: chat.config.autonomy,
    steps: {},
    runs: {},
    queue: chat.queue ?? [],
    restoring: null,
    retry: null,
    starting: [],
  };
}

const UNSTORED: ReadonlySet<WireEvent["type"]> = new Set([
  "text-delta",
  "reasoning-delta",
  "restore-progress",
  "model-retry",
  "mcp-wait",
]);

export function reduceAll(view: ChatView, events: readonly WireEvent[]): ChatView {
  return events.reduce(reduce, view);
}

function reduce(view: ChatView, event: WireEvent): ChatView {
  if (event.chat_id !== view.id || event.seq <= view.lastSeq) return view;
  return { ...changed(view, event), lastSeq: event.seq, news: UNSTORED.has(event.type) ? view.news : event.seq };
}

/** Older messages, as scrolling up brings them. */
export function prepend(view: ChatView, older: readonly Message[], plans: readonly PlanProgress[] = []): ChatView {
  const known = new Set(view.messages.map(({ id }) => id));
  const messages = [...older.filter(({ id }) => !known.has(id)), ...view.messages];
  const begun = view.turn && turnIn(messages.filter(({ turn_id }) => turn_id === view.turn?.id));
  return {
    ...view,
    messages,
    turn: begun && view.turn && begun.startedAt < view.turn.startedAt ? begun : view.turn,
    plans: withProgress(view.plans, plans),
  };
}

/** The chat's newest turn and since when it works, as its messages tell who did not watch it begin; null if none does. Pure. */
function turnIn(messages: readonly Message[]): ChatView["turn"] {
  const id = messages.findLast(({ turn_id, task_id }) => turn_id && !task_id)?.turn_id;
  if (!id) return null;
  const own = messages.filter(({ turn_id }) => turn_id === id);
  const begun = own.findLast(({ payload }) => "continued" in loose(payload)) ?? own[0]!;
  return { id, startedAt: begun.created_at };
}

function changed(view: ChatView, event: WireEvent): ChatView {
  switch (event.type) {
    case "message":
      return withMessage(view, event.message as Message);
    case "text-delta":
    case "reasoning-delta":
      if (event.call_id && !event.turn_id)
        return {
          ...view,
          ownPrinted: {
            ...view.ownPrinted,
            [event.call_id]: extended(view.ownPrinted[event.call_id] ?? NOTHING, event),
          },
        };
      if (event.call_id)
        return {
          ...view,
          printed: { ...view.printed, [event.call_id]: extended(view.printed[event.call_id] ?? NOTHING, event) },
        };
      if (event.task_id) return view; // a worker's words are read on the job's page, once they are a message
      return withWords(view, event);
    case "turn-started":
      return {
        ...view,
        state: event.task_id ? event.state : "running", // other tasks may wait for a person
        turn: { id: event.turn_id ?? "", startedAt: event.at },
        ending: null,
        stopped: null,
        retry: null,
        starting: [],
      };
    case "turn-ended":
      if (event.task_id) return withTaskEnded(view, event);
      return {
        ...view,
        state: "idle",
        turn: null,
        stepsLeft: null, // and not at a start: a turn that goes on after an answer has what it had
        ending: event.reason,
        spent: event.seq, // a request that was stopped tells nothing of its own
        stopped: stoppedBy(event, view.role),
        drafts: [],
        printed: {},
        approvals: [],
        decided: {},
        questions: [],
        retry: null,
        starting: [],
      };
    case "permission-request":
      return {
        ...view,
        state: "awaiting_approval",
        approvals: [...without(view.approvals, event.approval.id), event.approval],
      };
    case "permission-decided":
      return decided(
        view,
        text(loose(event.approval)["id"]),
        event.call_id ?? "",
        text(loose(event.approval)["state"]),
        text(loose(event.approval)["decided_by"]),
      );
    case "question":
      return {
        ...view,
        state: view.approvals.length > 0 ? "awaiting_approval" : "awaiting_answer",
        questions: [...view.questions, text(loose(event.question)["message_id"])],
      };
    case "question-answered":
      return goingOn({
        ...view,
        questions: view.questions.filter((id) => id !== text(loose(event.question)["message_id"])),
      });
    case "plan-update":
      return { ...view, plans: withPlan(view.plans, loose(event.plan)) };
    case "role-changed":
      return { ...view, role: text(loose(event.role)["new_role"]) || view.role };
    case "usage":
      return { ...view, spent: event.seq, stepsLeft: event.task_id ? view.stepsLeft : stepsLeftIn(event.usage) };
    case "tool-call":
      return event.step_id && event.call_id
        ? { ...view, steps: { ...view.steps, [event.call_id]: event.step_id } }
        : view;
    case "workflow-progress":
      return withRun(view, readRun(event.workflow));
    case "queue-updated":
      return { ...view, queue: withQueued(view.queue, readQueued(event.queued)) };
    case "tool-result":
      return { ...view, printed: withoutKey(view.printed, event.call_id ?? "") };
    case "restore-progress":
      return { ...view, restoring: { done: event.restore.done, total: event.restore.total } };
    case "model-retry":
      return event.task_id ? view : { ...view, retry: event.retry }; // a worker's wait is no wait of the chat's own turn
    case "mcp-wait":
      return event.task_id ? view : { ...view, starting: event.wait.servers };
    case "snapshot":
      return event.snapshot.moment === "after" ? { ...view, restoring: null } : view;
    case "job-updated":
    case "job-completed":
      return text(loose(event)["state"]) === "idle" ? { ...view, state: "idle", turn: null } : view;
    case "task-started":
    case "task-completed":
    case "error":
      return view; // what a person sees of these comes as messages, or on screens of their own
    default:
      event satisfies never;
      return view; // a newer server may say more than this page knows
  }
}

/** What steers stands first, then the oldest: ids are made in order. */
function withQueued(queue: ChatView["queue"], told: ReturnType<typeof readQueued>): ChatView["queue"] {
  if (!told) return queue;
  const others = queue.filter(({ id }) => id !== told.id);
  if (told.status !== "queued") return others;
  const { status: _, ...queued } = told;
  return [...others, queued].sort((a, b) => Number(b.steer) - Number(a.steer) || (a.id < b.id ? -1 : 1));
}

function withMessage(view: ChatView, message: Message): ChatView {
  const at = view.messages.findLastIndex(({ id }) => id === message.id);
  const messages = at < 0 ? [...view.messages, message] : view.messages.with(at, message);
  const autonomy = message.role === "system" ? (autonomyIn(message) ?? view.autonomy) : view.autonomy;
  const drafts = message.role === "user" ? view.drafts : view.drafts.filter(({ turnId }) => turnId !== message.turn_id);
  const own = readPersonCommand(message);
  const ownPrinted = own?.ended ? withoutKey(view.ownPrinted, own.id) : view.ownPrinted;
  const retry = message.role === "user" ? view.retry : null;
  return { ...view, messages, drafts, autonomy, ownPrinted, retry };
}

/** What a command that was running when the page opened had printed before: the rest came, or comes, as events. */
export function withEarlierOutput(view: ChatView, commandId: string, output: string): ChatView {
  const said = view.ownPrinted[commandId] ?? NOTHING;
  const missing = said.length - codePoints(said.text);
  const length = codePoints(output);
  if (said.length > 0 && (missing === 0 || length < missing)) return view;
  const text = said.length > 0 ? [...output].slice(0, missing).join("") + said.text : output;
  return { ...view, ownPrinted: { ...view.ownPrinted, [commandId]: { text, length: Math.max(said.length, length) } } };
}

/** What a recorded change of the autonomy set it to; null for any other message. */
export function autonomyIn(message: Message): Autonomy | null {
  const now = text(loose(message.payload)["new_autonomy"]);
  return now === "ask" || now === "edits" || now === "sandboxed" ? now : null;
}

const CONTEXT_FULL = "context_full";

/** A task of a job is not continued but retried, on the job's page. */
function stoppedBy(
  { reason, turn, task_id }: { reason: EndReason; turn?: unknown; task_id?: string | null },
  role: string,
): Stopped | null {
  if (task_id) return null;
  const full = text(loose(loose(turn)["error"])["code"]) === CONTEXT_FULL;
  return reason === "limit" || reason === "interrupted" || reason === "blocked" ? { reason, role, full } : null;
}

/** Where the turn can be continued: it is, in the role that it had. */
export function continuable(view: ChatView): Stopped | null {
  return view.state === "idle" && view.stopped?.role === view.role ? view.stopped : null;
}

function withRun(view: ChatView, run: Run | null): ChatView {
  return run ? { ...view, runs: { ...view.runs, [run.run_id]: run } } : view;
}

function withoutKey<T>(record: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> {
  if (!(key in record)) return record;
  const { [key]: _, ...rest } = record;
  return rest;
}

function without(approvals: readonly Approval[], id: string): readonly Approval[] {
  return approvals.filter((approval) => approval.id !== id);
}

function decided(view: ChatView, id: string, callId: string, state: string, by: string): ChatView {
  const known =
    state === "allowed" || state === "denied" ? ({ ...view.decided, [callId]: { state, by } } as const) : view.decided;
  return goingOn({ ...view, approvals: without(view.approvals, id), decided: known });
}

/** The view after something was decided or answered: what still waits says its state. */
function goingOn(view: ChatView): ChatView {
  if (view.state !== "awaiting_approval" && view.state !== "awaiting_answer") return view;
  if (view.approvals.length > 0) return { ...view, state: "awaiting_approval" };
  return { ...view, state: view.questions.length > 0 ? "awaiting_answer" : "running" };
}

/** A task's turn is over: what other tasks ask still waits, and the chat's own turn, if it asked for the task, goes on. */
function withTaskEnded(view: ChatView, event: Extract<WireEvent, { type: "turn-ended" }>): ChatView {
  const asked = new Set(view.messages.filter(({ turn_id }) => turn_id === event.turn_id).map(({ id }) => id));
  return {
    ...view,
    state: event.state,
    turn: view.turn?.id === event.turn_id ? null : view.turn,
    ending: event.reason,
    spent: event.seq,
    approvals: view.approvals.filter(({ job_id, task_id }) => job_id !== event.job_id || task_id !== event.task_id),
    questions: view.questions.filter((id) => !asked.has(id)),
  };
}

/** With its first words a request counts: what it may cost is reserved. */
function withWords(view: ChatView, delta: Delta): ChatView {
  const isNew = view.drafts.every(({ messageId }) => messageId !== delta.message_id);
  return { ...view, drafts: withDelta(view.drafts, delta), spent: isNew ? delta.seq : view.spent, retry: null };
}

/** Seconds of thinking per message. Only who watched knows them, so they are no part of the view. */
export type Thinking = Readonly<Record<string, number>>;

/** How long the drafts that became messages with these events had been thought about. */
export function thinkingTimes(before: ChatView, after: ChatView): Thinking {
  const times: Record<string, number> = {};
  for (const draft of before.drafts) {
    if (draft.reasoning.length === 0 || after.drafts.some(({ messageId }) => messageId === draft.messageId)) continue;
    const spoken = after.messages.findLast(
      ({ id, turn_id, role }) => id === draft.messageId || (turn_id === draft.turnId && role !== "user"),
    );
    const until = draft.thoughtUntil ?? spoken?.created_at ?? draft.startedAt;
    if (spoken) times[spoken.id] = Math.max(0, (Date.parse(until) - Date.parse(draft.startedAt)) / 1000);
  }
  return times;
}

function stepsLeftIn(usage: unknown): number | null {
  const left = loose(usage)["steps_left"];
  return typeof left === "number" ? left : null;
}
