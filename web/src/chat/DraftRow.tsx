import type { Draft } from "../state/reduce";
import { Markdown } from "../messages/Markdown";
import { Says } from "../messages/Says";
import { Thinking } from "../messages/Thinking";

/** What is still being said. */
export function DraftRow({ draft, role }: { draft: Draft; role: string }) {
  const thinking = draft.text.length === 0;
  const took = draft.thoughtUntil ? Math.max(0, (Date.parse(draft.thoughtUntil) - Date.parse(draft.startedAt)) / 1000) : null;
  return (
    <Says role={role} at={draft.startedAt}>
      {draft.reasoning.length > 0 && <Thinking of={draft.messageId} text={draft.reasoning.text} took={took} running={thinking} />}
      <Markdown text={draft.text.text} />
    </Says>
  );
}
