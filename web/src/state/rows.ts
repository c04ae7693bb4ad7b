// The transcript as rows: one per message, but calls of one stretch of work stand together with their results.
import { loose, type Message, readPersonCommand, readToolResult, type ToolResult, text } from "../wire/nouns";
import { readToolCall, type ToolCall } from "../wire/toolCalls";
import type { Draft, Said } from "./drafts";

export interface Done {
  message: Message;
  call: ToolCall;
  result: ToolResult | null;
  resultId: string | null;
  output: string;
  seconds: number | null;
}

export type Row =
  | { kind: "message"; key: string; message: Message }
  | { kind: "work"; key: string; calls: readonly Done[] }
  | { kind: "draft"; key: string; message: Message; thought: number | null; saying: Saying };

/** How far an answer is that still comes. */
export type Saying = "thinking" | "speaking";

/** Whether the chat shows it: what a job's workers do stands on the job's page, but their questions are the person's. */
export function concernsThePerson({ task_id, message_type }: Message): boolean {
  return !task_id || message_type === "question";
}

/** The messages' rows; they stay the same objects while words stream in. */
export function rowsOf(messages: readonly Message[]): Row[] {
  const results = resultsByCall(messages);
  const calls = new Set<string>();
  const ended = endedCommands(messages);
  const replaced = startsWithAnEnd(messages);
  const rows: Row[] = [];
  for (const message of messages) {
    const call = message.message_type === "tool_call" ? readToolCall(message.payload) : null;
    if (call) {
      calls.add(call.id);
      addCall(rows, message, call, results.get(call.id));
    } else if (!isShownWithItsCall(message, calls) && !isShownWithItsEnd(message, ended) && !replaced.has(message.id)) {
      rows.push({ kind: "message", key: message.id, message });
    }
  }
  return rows;
}

/** A call that runs shows what it has printed so far where its output will stand. */
export function withPrinted(rows: readonly Row[], printed: Readonly<Record<string, Said>>): readonly Row[] {
  if (Object.keys(printed).length === 0) return rows;
  return rows.map((row) => {
    if (row.kind !== "work" || !row.calls.some(({ call, result }) => !result && call.id in printed)) return row;
    return {
      ...row,
      calls: row.calls.map((done) => (done.result ? done : { ...done, output: printed[done.call.id]?.text ?? "" })),
    };
  });
}

/** What is still being said stands as the message that it becomes. */
export function withDrafts(rows: readonly Row[], drafts: readonly Draft[], role: string): readonly Row[] {
  if (drafts.length === 0) return rows;
  return [...rows, ...drafts.map((draft) => draftRow(draft, role))];
}

function draftRow({ messageId, turnId, text, reasoning, startedAt, thoughtUntil }: Draft, role: string): Row {
  const message: Message = {
    id: messageId,
    role: "assistant",
    message_type: "text",
    content: text.text,
    reasoning: reasoning.text || null,
    payload: null,
    agent_role: role,
    turn_id: turnId,
    job_id: null,
    task_id: null,
    created_at: startedAt,
    origins: ["model"],
  };
  return {
    kind: "draft",
    key: messageId,
    message,
    thought: thoughtUntil ? secondsBetween(startedAt, thoughtUntil) : null,
    saying: text.length === 0 ? "thinking" : "speaking",
  };
}

/** The place of the row that shows this message, -1 if none does. A call stands in its stretch of work, a result with its call. */
export function rowHolding(rows: readonly Row[], messageId: string): number {
  return rows.findIndex((row) => {
    if (row.key === messageId) return true;
    return (
      row.kind === "work" &&
      row.calls.some(({ message, resultId }) => message.id === messageId || resultId === messageId)
    );
  });
}

function resultsByCall(messages: readonly Message[]): Map<string, { result: ToolResult; message: Message }> {
  const found = new Map<string, { result: ToolResult; message: Message }>();
  for (const message of messages) {
    const result = message.message_type === "tool_result" ? readToolResult(message.payload) : null;
    if (result?.tool_call_id) found.set(result.tool_call_id, { result, message });
  }
  return found;
}

function addCall(
  rows: Row[],
  message: Message,
  call: ToolCall,
  given: { result: ToolResult; message: Message } | undefined,
): void {
  const done: Done = {
    message,
    call,
    result: given?.result ?? null,
    resultId: given?.message.id ?? null,
    output: given?.message.content ?? "",
    seconds: given ? ranFor(given.result) : null,
  };
  const last = rows.at(-1);
  if (last?.kind === "work" && !message.reasoning) rows[rows.length - 1] = { ...last, calls: [...last.calls, done] };
  else rows.push({ kind: "work", key: message.id, calls: [done] });
}

/** A command of the person has one card: while it runs that of its start, then that of its end. */
function endedCommands(messages: readonly Message[]): ReadonlySet<string> {
  return new Set(messages.map(readPersonCommand).flatMap((own) => (own?.ended ? [own.id] : [])));
}

function isShownWithItsEnd(message: Message, ended: ReadonlySet<string>): boolean {
  const own = readPersonCommand(message);
  return own !== null && !own.ended && ended.has(own.id);
}

/** What git does for the person is recorded before and after: the note of the end stands for both. One that was cut off has no end. */
function startsWithAnEnd(messages: readonly Message[]): ReadonlySet<string> {
  const replaced = new Set<string>();
  let start: { id: string; end: "commit" | "no_undo" } | null = null; // and what its end says besides
  for (const { id, role, payload } of messages) {
    const git = loose(loose(payload)["git"]);
    if (role !== "system" || !text(git["by"])) continue;
    if ("intended_commit" in git) start = { id, end: "commit" };
    else if (Object.keys(git).length === 1) start = { id, end: "no_undo" };
    else if (start && start.end in git) {
      replaced.add(start.id);
      start = null;
    }
  }
  return replaced;
}

function isShownWithItsCall(message: Message, calls: ReadonlySet<string>): boolean {
  if (message.message_type !== "tool_result") return false;
  const callId = readToolResult(message.payload)?.tool_call_id;
  return callId != null && calls.has(callId);
}

/** As the server measured it: the time between call and result would count how long a person thought. */
function ranFor({ facts }: ToolResult): number | null {
  const ran = facts["seconds"];
  return typeof ran === "number" ? ran : null;
}

function secondsBetween(from: string, to: string): number | null {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
