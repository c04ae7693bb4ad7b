// What a person should hear of while looking elsewhere. Names the tool, never what is in a file.
import type { EndReason, WireEvent } from "../wire/nouns";
import { chime } from "./chime";
import { preference } from "./preferences";

export function notify(event: WireEvent): void {
  const words = document.hidden ? wordsFor(event) : null;
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
  planned: "A plan is waiting for your approval.",
  limit: "The agent stopped at a limit. You can continue.",
  interrupted: "The agent was interrupted. You can continue.",
  blocked: "The plan is blocked. You can continue.",
  failed: "The turn ended early.",
};

export function wordsFor(event: WireEvent): string | null {
  switch (event.type) {
    case "permission-request":
      return `An approval is waiting: ${event.approval.tool}`;
    case "question":
      return "The agent has a question for you.";
    case "turn-ended":
      return ENDED[event.reason] ?? (event.reason === "stopped" ? null : "The agent has finished.");
    default:
      return null;
  }
}
