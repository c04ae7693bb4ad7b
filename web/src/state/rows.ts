// The transcript as rows: one per message, but calls of one stretch of work stand together with their results.
import { type Message, type ToolCall, type ToolResult, readToolCall, readToolResult } from "../wire/nouns";
import type { Draft } from "./reduce";

export interface Done {
  message: Message;
  call: ToolCall;
  result: ToolResult | null;
  output: string;
  seconds: number | null;
}

export type Row =
  | { kind: "message"; key: string; message: Message }
  | { kind: "work"; key: string; calls: readonly Done[] }
  | { kind: "draft"; key: string; draft: Draft };

export function rowsOf(messages: readonly Message[], drafts: readonly Draft[]): Row[] {
  const results = resultsByCall(messages);
  const calls = new Set<string>();
  const rows: Row[] = [];
  for (const message of messages) {
    const call = message.message_type === "tool_call" ? readToolCall(message.payload) : null;
    if (call) {
      calls.add(call.id);
      addCall(rows, message, call, results.get(call.id));
    } else if (!isShownWithItsCall(message, calls)) {
      rows.push({ kind: "message", key: message.id, message });
    }
  }
  for (const draft of drafts) rows.push({ kind: "draft", key: draft.messageId, draft });
  return rows;
}

function resultsByCall(messages: readonly Message[]): Map<string, { result: ToolResult; message: Message }> {
  const found = new Map<string, { result: ToolResult; message: Message }>();
  for (const message of messages) {
    const result = message.message_type === "tool_result" ? readToolResult(message.payload) : null;
    if (result?.tool_call_id) found.set(result.tool_call_id, { result, message });
  }
  return found;
}

function addCall(rows: Row[], message: Message, call: ToolCall, given: { result: ToolResult; message: Message } | undefined): void {
  const done: Done = {
    message,
    call,
    result: given?.result ?? null,
    output: given?.message.content ?? "",
    seconds: given ? secondsBetween(message.created_at, given.message.created_at) : null,
  };
  const last = rows.at(-1);
  if (last?.kind === "work" && !message.reasoning) rows[rows.length - 1] = { ...last, calls: [...last.calls, done] };
  else rows.push({ kind: "work", key: message.id, calls: [done] });
}

function isShownWithItsCall(message: Message, calls: ReadonlySet<string>): boolean {
  if (message.message_type !== "tool_result") return false;
  const callId = readToolResult(message.payload)?.tool_call_id;
  return callId != null && calls.has(callId);
}

function secondsBetween(from: string, to: string): number | null {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
