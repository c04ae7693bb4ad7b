// Which key decides what. Pure, and careful: nothing is decided in a text field, while composing, or right after something new appeared.
import { isTyping } from "../ui/hotkeys";

export type Choice = "allow" | "deny" | "allow-all" | "next" | "previous";

export const GUARD_MS = 400;

export function choiceOf(event: KeyboardEvent, sinceNew: number): Choice | null {
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return null;
  switch (event.key) {
    case "ArrowDown":
      return "next";
    case "ArrowUp":
      return "previous";
  }
  if (sinceNew < GUARD_MS) return null; // a key that was meant for something else
  switch (event.key) {
    case "y":
      return "allow";
    case "Enter":
      return onSomething(event) ? null : "allow";
    case "Y":
      return "allow-all";
    case "n":
      return "deny";
    default:
      return null;
  }
}

/** Enter on a focused button or link belongs to it. */
function onSomething(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLElement && event.target.closest("button, a, summary, [role='menuitem']") !== null;
}
