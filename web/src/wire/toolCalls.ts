// A call as a message tells it, and what of it was the server's own work.
import { loose, text } from "./nouns";

export interface ToolCall {
  id: string;
  tool: string;
  parameters: Record<string, unknown>;
  /** What the server itself did with it; absent if the agent made it. */
  own?: "checked-before" | "checked" | "undone";
}

export function readToolCall(value: unknown): ToolCall | null {
  const call = loose(value);
  if (!text(call["tool"])) return null;
  const own = ownWork(call);
  return {
    id: text(call["id"]),
    tool: text(call["tool"]),
    parameters: loose(call["parameters"]),
    ...(own && { own }),
  };
}

function ownWork(call: Record<string, unknown>): ToolCall["own"] {
  if (call["restores"] === true) return "undone";
  if (!text(call["check"])) return undefined;
  return call["baseline"] === true ? "checked-before" : "checked";
}
