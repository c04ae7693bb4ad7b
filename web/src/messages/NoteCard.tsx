import { Info } from "lucide-react";
import { clock } from "../ui/times";
import type { Message } from "../wire/nouns";

/** What the house itself says: short, and nobody's role. */
export function NoteCard({ message }: { message: Message }) {
  return (
    <p role="note" className="flex items-baseline justify-center gap-2 text-center text-sm text-ink-3">
      <Info size={13} aria-hidden className="shrink-0 translate-y-0.5" />
      <span className="min-w-0 break-words">{message.content}</span>
      <time className="shrink-0 text-xs tabular-nums">{clock(message.created_at)}</time>
    </p>
  );
}
