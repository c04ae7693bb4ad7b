import { CircleHelp, CirclePause, Hand, ListChecks } from "lucide-react";
import { useWording } from "../state/me";
import { t } from "../texts/chat";
import { t as people } from "../texts/people";
import type { Chat, ChatState } from "../wire/nouns";

const WAITS = "inline-flex size-5 shrink-0 items-center justify-center rounded-full bg-warn-soft text-warn";

/** A chat's state in the list: what waits for a person looks different from what runs. The room is the title's, so the word is only read out. */
export function StateMark({ state, waiting = null }: { state: ChatState; waiting?: Chat["waiting"] }) {
  const wording = useWording();
  switch (state) {
    case "awaiting_approval":
      return (
        <span title={wording(t.waitsForYourApproval, people.readers.waitsForApproval)} className={WAITS}>
          <Hand size={13} aria-hidden />{" "}
          <span className="sr-only">{wording(t.approve, people.readers.needsApproval)}</span>
        </span>
      );
    case "awaiting_answer":
      return (
        <span title={wording(t.waitsForYourAnswer, people.readers.waitsForAnAnswer)} className={WAITS}>
          <CircleHelp size={13} aria-hidden />{" "}
          <span className="sr-only">{wording(t.answer, people.readers.needsAnAnswer)}</span>
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
          <span title={wording(t.aPlanWaitsForYour, people.readers.aPlanWaits)} className={WAITS}>
            <ListChecks size={13} aria-hidden />{" "}
            <span className="sr-only">{wording(t.approveThePlan, people.readers.aPlanNeedsApproval)}</span>
          </span>
        );
      if (waiting === "continue")
        return (
          <span title={wording(t.stoppedItCanBeContinued, people.readers.stopped)} className={WAITS}>
            <CirclePause size={13} aria-hidden />{" "}
            <span className="sr-only">{wording(t.continue3, people.readers.canBeContinued)}</span>
          </span>
        );
      return null;
    default: {
      const unreachable: never = state;
      return unreachable;
    }
  }
}
