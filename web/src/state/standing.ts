// Where a plan or a question stands, read from the view: from its events where they were seen, else from the messages around it.
import { loose, type Message, type Plan, readPlan, text } from "../wire/nouns";
import type { PlanStanding } from "./planStandings";
import type { ChatView } from "./reduce";

export function planStanding(view: ChatView, messageId: string): PlanStanding {
  const told = view.plans[messageId];
  if (told?.approved) return told;
  const request = view.messages.find(({ payload }) => text(loose(payload)["plan_id"]) === messageId);
  if (told) return request ? { ...told, approved: planIn(request.content) } : told;
  if (request) return { state: "approved", approved: planIn(request.content) };
  if (isWorkedOn(view, messageId)) return { state: "approved", approved: null };
  const newest = view.messages.findLast(({ message_type }) => message_type === "plan");
  return { state: newest && newest.id !== messageId ? "superseded" : "open", approved: null };
}

/** Tasks are assigned only from an approved plan: one that is assigned after a plan says that a job carries it out. */
function isWorkedOn(view: ChatView, messageId: string): boolean {
  const at = view.messages.findIndex(({ id }) => id === messageId);
  return at >= 0 && view.messages.slice(at).some(({ message_type }) => message_type === "task_assignment");
}

/** The approved text stands in the request that it became. */
function planIn(content: string): Plan | null {
  const fenced = /```json\n([\s\S]*)\n```/.exec(content)?.[1];
  try {
    return fenced ? readPlan(JSON.parse(fenced)) : null;
  } catch {
    return null;
  }
}

/** Whether a plan was approved in these messages: then its progress is to be asked for, since no message tells it. */
export function holdApprovedPlan(messages: readonly Message[]): boolean {
  return messages.some(({ payload }) => text(loose(payload)["plan_id"]));
}

export type QuestionStanding = { state: "open" | "withdrawn" } | { state: "answered"; answer: string; by?: Message };

export function questionStanding(view: ChatView, messageId: string): QuestionStanding {
  const answer = view.messages.find(({ payload }) => text(loose(payload)["question_id"]) === messageId);
  if (answer) return { state: "answered", answer: answer.content, by: answer };
  return { state: view.questions.includes(messageId) ? "open" : "withdrawn" };
}

/** The plan that waits to be approved. */
export function openPlan(view: ChatView): string | null {
  const newest = view.messages.findLast(({ message_type }) => message_type === "plan");
  return newest && planStanding(view, newest.id).state === "open" ? newest.id : null;
}

/** The calls that wait for a person. */
export function waitingCalls(view: ChatView): ReadonlySet<string> {
  return new Set(view.approvals.map(({ tool_call_id }) => tool_call_id));
}

/** Where a call without a result stands. In a batch that still waits nothing runs: a decided call waits for the others. */
export function callStanding(
  view: ChatView,
  waiting: ReadonlySet<string>,
  callId: string,
): "running" | "waiting" | "allowed" | "denied" {
  if (waiting.has(callId)) return "waiting";
  const decided = view.decided[callId];
  if (decided?.state === "denied") return "denied";
  return view.state === "awaiting_approval" ? "allowed" : "running";
}

/** The approved plan whose turn is the newest: the one that is being carried out, or just was. A dropped one is in nobody's hand. */
export function planInHand(view: ChatView): string | null {
  if (isDismissed(view)) return null;
  const asked = view.messages.findLast(({ role, payload }) => role === "user" && !text(loose(payload)["question_id"]));
  const payload = loose(asked?.payload);
  return text(payload["plan_id"]) || text(payload["kept_plan"]) || null;
}

/** Whether a person dropped what the newest turn left waiting. */
function isDismissed(view: ChatView): boolean {
  const newest = view.messages.findLast(({ role, payload }) => role === "user" || loose(payload)["dismissed"]);
  return newest !== undefined && newest.role !== "user";
}

interface Restore {
  at: number;
  paths: ReadonlySet<string>;
  undo: string;
}

/** Where the files were restored in these messages. Undoing that takes it out again. Pure. */
export function restoredIn(messages: readonly Message[]): Restore[] {
  const found: Restore[] = [];
  messages.forEach(({ payload }, at) => {
    const restore = loose(loose(payload)["restore"]);
    const paths = [restore["restored"], restore["deleted"]].flatMap((list) =>
      Array.isArray(list) ? list.map(text) : [],
    );
    if (paths.length === 0) return;
    if (found.at(-1)?.undo === text(restore["snapshot"])) found.pop();
    else found.push({ at, paths: new Set(paths), undo: text(restore["undo_snapshot"]) });
  });
  return found;
}

/** Whether files were restored since a person last spoke: what was done until then may stand no more. */
export function isRestored(messages: readonly Message[]): boolean {
  const asked = messages.findLastIndex(isAsked);
  return restoredIn(messages.slice(asked + 1)).length > 0;
}

/** Whether a person spoke: what a job gives its workers is said in their place. */
export function isAsked({ role, task_id }: Message): boolean {
  return role === "user" && !task_id;
}

/** The restore that ended the chat so far, and the checkpoint that takes it back. */
export function restoreToUndo(view: ChatView): { noteId: string; snapshot: string } | null {
  const newest = view.messages.at(-1);
  const snapshot = text(loose(loose(newest?.payload)["restore"])["undo_snapshot"]);
  return newest && snapshot && view.state === "idle" ? { noteId: newest.id, snapshot } : null;
}
