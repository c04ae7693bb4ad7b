import { CircleHelp, CirclePause, Hand, ListChecks } from "lucide-react";
import { t } from "../texts/chat";
import type { Chat, ChatState } from "../wire/nouns";

const WAITS = "inline-flex size-5 shrink-0 items-center justify-center rounded-full bg-warn-soft text-warn";

/** A chat's state in the list: what waits for a person looks different from what runs. The room is the title's, so the word is only read out. */
export function StateMark({ state, waiting = null }: { state: ChatState; waiting?: Chat["waiting"] }) {
  switch (state) {
    case "awaiting_approval":
      return (
        <span title={t.waitsForYourApproval} className={WAITS}>
          <Hand size={13} aria-hidden /> <span className="sr-only">{t.approve}</span>
        </span>
      );
    case "awaiting_answer":
      return (
        <span title={t.waitsForYourAnswer} className={WAITS}>
          <CircleHelp size={13} aria-hidden /> <span className="sr-only">{t.answer}</span>
        </span>
      );
    case "running":
      return (
        <span title={t.theAgentIsWorking} className="inline-flex size-5 shrink-0 items-center justify-center">
          <span aria-hidden className="breathe size-2 rounded-full bg-[var(--focus)]" />{" "}
          <span className="sr-only">{t.working}</span>
        </span>
      );
    case "idle":
      if (waiting === "plan")
        return (
          <span title={t.aPlanWaitsForYour} className={WAITS}>
            <ListChecks size={13} aria-hidden /> <span className="sr-only">{t.approveThePlan}</span>
          </span>
        );
      if (waiting === "continue")
        return (
          <span title={t.stoppedItCanBeContinued} className={WAITS}>
            <CirclePause size={13} aria-hidden /> <span className="sr-only">{t.continue3}</span>
          </span>
        );
      return null;
    default: {
      const unreachable: never = state;
      return unreachable;
    }
  }
}
