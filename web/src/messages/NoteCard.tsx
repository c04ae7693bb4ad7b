import { Info } from "lucide-react";
import { t } from "../texts/chat";
import { clock } from "../ui/times";
import { loose, type Message } from "../wire/nouns";

/** What the server itself says: short, and nobody's role. */
export function NoteCard({ message }: { message: Message }) {
  const missed = loose(message.payload)["not_found"];
  return (
    <p role="note" className="flex items-baseline justify-center gap-2 text-center text-sm text-ink-3">
      <Info size={13} aria-hidden className="shrink-0 translate-y-0.5" />
      <span className="min-w-0 break-words whitespace-pre-line">
        {Array.isArray(missed) ? t.notRead(missed.join(", ")) : message.content}
      </span>
      <time className="shrink-0 text-xs tabular-nums">{clock(message.created_at)}</time>
    </p>
  );
}
