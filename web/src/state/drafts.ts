// Messages that are still being said: the deltas of a stream, put together.
import type { WireEvent } from "../wire/nouns";

/** A message that is still being said. Offsets on the wire count code points, so `length` does too. */
export interface Draft {
  messageId: string;
  turnId: string | null;
  text: Said;
  reasoning: Said;
  startedAt: string;
  thoughtUntil: string | null;
}

export interface Said {
  text: string;
  length: number;
}

export type Delta = Extract<WireEvent, { type: "text-delta" | "reasoning-delta" }>;
export const NOTHING: Said = { text: "", length: 0 };

/** How much of the messages has come so far; null where none is being said. Pure. */
export function grownOf(drafts: readonly Draft[]): number | null {
  if (drafts.length === 0) return null;
  return drafts.reduce((sum, { text, reasoning }) => sum + text.length + reasoning.length, 0);
}

export function withDelta(drafts: readonly Draft[], delta: Delta): readonly Draft[] {
  const at = drafts.findIndex(({ messageId }) => messageId === delta.message_id);
  const draft = drafts[at] ?? {
    messageId: delta.message_id,
    turnId: delta.turn_id ?? null,
    text: NOTHING,
    reasoning: NOTHING,
    startedAt: delta.at,
    thoughtUntil: null,
  };
  const grown: Draft =
    delta.type === "text-delta"
      ? { ...draft, text: extended(draft.text, delta), thoughtUntil: draft.thoughtUntil ?? delta.at }
      : { ...draft, reasoning: extended(draft.reasoning, delta) };
  return at < 0 ? [...drafts, grown] : drafts.with(at, grown);
}

export function extended(said: Said, { offset, text: piece }: Delta): Said {
  const pieceLength = codePoints(piece);
  if (offset === said.length) return { text: said.text + piece, length: said.length + pieceLength };
  const isWhole = said.length === codePoints(said.text);
  if (isWhole && offset + pieceLength <= said.length) return said;
  const kept = offset < said.length ? [...said.text].slice(0, offset).join("") : said.text;
  return { text: kept + piece, length: Math.max(offset, 0) + pieceLength };
}

export function codePoints(piece: string): number {
  let count = 0;
  for (const _ of piece) count += 1;
  return count;
}
