// The timeline of a chat's changes: a call's two snapshots are one change, a turn's changes stand together, the newest first. Pure.
import type { components } from "../wire/api.gen";
import { loose, type Message, text } from "../wire/nouns";
import { readToolCall } from "../wire/toolCalls";

export type Snapshot = components["schemas"]["SnapshotResponse"];

export interface Change {
  before: Snapshot;
  after: Snapshot | null;
}

export function changesOf(snapshots: readonly Snapshot[]): Change[] {
  const changes: Change[] = [];
  for (const snapshot of snapshots) {
    const open = changes.at(-1);
    if (snapshot.moment === "before") changes.push({ before: snapshot, after: null });
    else if (open && open.after === null && open.before.tool_call_id === snapshot.tool_call_id) open.after = snapshot;
  }
  return changes.reverse();
}

export interface Stretch {
  turnId: string | null;
  /** What the person asked for; empty if that is not known here. */
  asked: string;
  changes: Change[];
}

/** Changes that one turn made, or one job with all its tasks, as the messages tell. Going back to somewhere stands by itself. */
export function stretchesOf(changes: readonly Change[], messages: readonly Message[]): Stretch[] {
  const turns = new Map(
    messages
      .filter(({ message_type }) => message_type === "tool_call")
      .map(({ payload, turn_id }) => [readToolCall(payload)?.id, turn_id]),
  );
  const jobs = new Map(messages.filter(({ task_id }) => task_id).map(({ turn_id, job_id }) => [turn_id, job_id]));
  const workOf = (turnId: string | null) => jobs.get(turnId) ?? turnId;
  const stretches: Stretch[] = [];
  for (const change of changes) {
    const turnId = turns.get(change.before.tool_call_id ?? "") ?? change.before.turn_id ?? null;
    const open = stretches.at(-1);
    if (open && turnId !== null && workOf(open.turnId) === workOf(turnId)) open.changes.push(change);
    else stretches.push({ turnId, asked: askedIn(messages, turnId), changes: [change] });
  }
  return stretches;
}

/** An approved plan and a job are named by their goal: what was sent with them is for the model. */
function askedIn(messages: readonly Message[], turnId: string | null): string {
  const at = turnId ? messages.findIndex(({ role, turn_id }) => role === "user" && turn_id === turnId) : -1;
  const asked = messages[at];
  if (!asked) return "";
  if (asked.task_id) return goalOf(messages.slice(0, at).findLast((message) => goalOf(message)));
  const planId = text(loose(asked.payload)["plan_id"]);
  return planId ? goalOf(messages.find(({ id }) => id === planId)) : asked.content;
}

function goalOf(message: Message | undefined): string {
  return text(loose(message?.payload)["goal"]);
}
