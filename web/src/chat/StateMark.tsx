import { CircleHelp, CirclePause, Hand, ListChecks } from "lucide-react";
import type { Chat, ChatState } from "../wire/nouns";

const WAITS = "inline-flex size-5 shrink-0 items-center justify-center rounded-full bg-warn-soft text-warn";

/** A chat's state in the list: what waits for a person looks different from what runs. The room is the title's, so the word is only read out. */
export function StateMark({ state, waiting = null }: { state: ChatState; waiting?: Chat["waiting"] }) {
  switch (state) {
    case "awaiting_approval":
      return (
        <span title="Waits for your approval" className={WAITS}>
          <Hand size={13} aria-hidden /> <span className="sr-only">approve</span>
        </span>
      );
    case "awaiting_answer":
      return (
        <span title="Waits for your answer" className={WAITS}>
          <CircleHelp size={13} aria-hidden /> <span className="sr-only">answer</span>
        </span>
      );
    case "running":
      return (
        <span title="The agent is working" className="inline-flex size-5 shrink-0 items-center justify-center">
          <span aria-hidden className="breathe size-2 rounded-full bg-[var(--focus)]" />{" "}
          <span className="sr-only">working</span>
        </span>
      );
    case "idle":
      if (waiting === "plan")
        return (
          <span title="A plan waits for your approval" className={WAITS}>
            <ListChecks size={13} aria-hidden /> <span className="sr-only">approve the plan</span>
          </span>
        );
      if (waiting === "continue")
        return (
          <span title="Stopped: it can be continued" className={WAITS}>
            <CirclePause size={13} aria-hidden /> <span className="sr-only">continue</span>
          </span>
        );
      return null;
    default: {
      const unreachable: never = state;
      return unreachable;
    }
  }
}
