import { CircleHelp, Hand } from "lucide-react";
import type { ChatState } from "../wire/nouns";

/** A chat's state in the list: what waits for a person looks different from what runs. */
export function StateMark({ state }: { state: ChatState }) {
  switch (state) {
    case "awaiting_approval":
      return (
        <span className="inline-flex items-center gap-1 rounded-full bg-warn-soft px-1.5 py-0.5 text-[11px] font-semibold text-warn">
          <Hand size={11} aria-hidden /> approve
        </span>
      );
    case "awaiting_answer":
      return (
        <span className="inline-flex items-center gap-1 rounded-full bg-warn-soft px-1.5 py-0.5 text-[11px] font-semibold text-warn">
          <CircleHelp size={11} aria-hidden /> answer
        </span>
      );
    case "running":
      return (
        <span className="inline-flex items-center gap-1 text-[11px] text-ink-3">
          <span aria-hidden className="breathe size-2 rounded-full bg-[var(--focus)]" /> working
        </span>
      );
    case "idle":
      return null;
    default: {
      const unreachable: never = state;
      return unreachable;
    }
  }
}
