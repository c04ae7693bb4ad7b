// The three levels of autonomy: what each lets pass, and when the next one is offered. Pure.

import { type Autonomy, autonomyIn } from "../state/reduce";
import { t } from "../texts/autonomy";
import { type Message, readToolResult, text } from "../wire/nouns";

export const LEVELS: readonly Autonomy[] = ["ask", "edits", "sandboxed"];

export const WORDS: Record<Autonomy, { title: string; does: string }> = {
  ask: { title: t.ask, does: t.everyChangeAndEveryCommand },
  edits: { title: t.edits, does: t.fileChangesPassDeletingCommands },
  sandboxed: { title: t.sandboxed, does: t.commandsPassTooInThe },
};

export const NOT_HELD = t.notOfferedThisMachinesSandbox;

const TIMES = 3;
const EDITS = new Set(["create", "change", "move"]); // kinds of tools

/** The level of the person's word that let a call pass; null if it was not the autonomy. */
export function coveredBy(facts: Record<string, unknown>): string | null {
  const [kind, level] = text(facts["allowed_by"]).split(":", 2);
  return kind === "autonomy" && level ? level : null;
}

/** The level after this one, as far as the machine holds it. */
export function nextLevel(now: Autonomy, full: boolean): Autonomy {
  const offered = LEVELS.filter((level) => level !== "sandboxed" || full);
  return offered[(offered.indexOf(now) + 1) % offered.length] ?? "ask";
}

/** What would have asked less: the person allowed the same kind three times since the autonomy last changed. */
export function offeredLevel(kinds: readonly string[], now: Autonomy, full: boolean): Autonomy | null {
  if (now === "ask" && kinds.filter((kind) => EDITS.has(kind)).length >= TIMES) return "edits";
  if (now !== "sandboxed" && full && kinds.filter((kind) => kind === "run").length >= TIMES) return "sandboxed";
  return null;
}

/** The tool of each call that the person allowed since the autonomy last changed. */
export function allowedTools(messages: readonly Message[]): string[] {
  const changed = messages.findLastIndex((message) => autonomyIn(message) !== null);
  return messages.slice(changed + 1).flatMap(({ message_type, payload }) => {
    const result = message_type === "tool_result" ? readToolResult(payload) : null;
    return result && text(result.facts["allowed_by"]).startsWith("approval:") ? [result.tool] : [];
  });
}
