// What a person should hear of while looking elsewhere. Names the tool, never what is in a file.

import { preference } from "../browser/preferences";
import { t as people } from "../texts/people";
import { t } from "../texts/state";
import type { EndReason, WireEvent } from "../wire/nouns";
import { chime } from "./chime";
import type { Wording } from "./me";

export function notify(event: WireEvent, wording: Wording): void {
  const words = document.hidden ? wordsFor(event, wording) : null;
  if (words === null) return;
  if (preference("sound") === "on") chime();
  if (
    preference("notifications") !== "on" ||
    typeof Notification === "undefined" ||
    Notification.permission !== "granted"
  )
    return;
  // The tag makes one notice of it, however many tabs are open.
  const notice = new Notification("AnyCowork", { body: words, tag: `${event.chat_id}:${event.seq}` });
  notice.onclick = () => {
    window.focus();
    location.hash = `#/chat/${event.chat_id}`;
    notice.close();
  };
}

const ENDED: Partial<Record<EndReason, string>> = {
  planned: t.aPlanIsWaitingFor,
  limit: t.theAgentStoppedAtA,
  interrupted: t.theAgentWasInterruptedYou,
  blocked: t.thePlanIsBlockedYou,
  failed: t.theTurnEndedEarly,
};

const ENDED_FOR_READERS: typeof ENDED = {
  ...ENDED,
  planned: people.readers.aPlanIsWaiting,
  limit: people.readers.theAgentStoppedAtALimit,
  interrupted: people.readers.theAgentWasInterrupted,
  blocked: people.readers.thePlanIsBlocked,
};

export function wordsFor(event: WireEvent, wording: Wording): string | null {
  switch (event.type) {
    case "permission-request":
      return t.anApprovalIsWaiting(event.approval.tool);
    case "question":
      return wording(t.theAgentHasAQuestion, people.readers.theAgentHasAQuestion);
    case "turn-ended":
      return (
        wording(ENDED, ENDED_FOR_READERS)[event.reason] ?? (event.reason === "stopped" ? null : t.theAgentHasFinished)
      );
    default:
      return null;
  }
}
