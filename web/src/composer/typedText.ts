// What a person types never decides. A letter that no field takes goes to the message field; a letter is a decision only
// in a card that has the focus, and only if nothing was typed for a while before it.

import { useEffect } from "react";
import { draftOf, keepDraft } from "../browser/preferences";
import { chatAt } from "../state/live";
import { useMay } from "../state/me";
import { keysOf, matches, NAMES, takesText } from "../ui/hotkeys";

/** So long after the last letter, the next one may be meant for a card. */
export const PAUSE_MS = 1_000;

let typedAt = -PAUSE_MS;
let strayAt = -PAUSE_MS;

/** How long nothing was typed, in ms. */
export function sinceTyped(): number {
  return performance.now() - typedAt;
}

/** A key that writes a character, and does nothing else. */
export function isPlainKey({ key, ctrlKey, metaKey, altKey, isComposing }: KeyboardEvent): boolean {
  return key.length === 1 && key !== " " && !ctrlKey && !metaKey && !altKey && !isComposing;
}

/** Writes this at the message field's cursor, and leaves the focus there. */
export function typeInComposer(text: string): void {
  const field = composer();
  if (!field) return;
  field.focus();
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
}

/** Once for the whole page: brings letters that no field takes to the message field, and keeps the rest of such a sentence from pressing a button. */
export function useTypedText(): void {
  const writes = useMay("POST /context/{chat_id}/messages");
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isPlainKey(event)) return;
      typedAt = performance.now();
      if (takesText(event.target) || NAMES.some((name) => matches(event, keysOf(name)))) return;
      strayAt = typedAt;
      if (writes && !document.querySelector("dialog[open]")) toComposer(event.key);
    };
    const onInput = () => {
      typedAt = performance.now(); // also by an input method, or spoken
    };
    const hold = (event: KeyboardEvent) => {
      const presses = event.key === "Enter" || event.key === " ";
      if (!presses || performance.now() - strayAt >= PAUSE_MS || takesText(event.target)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("input", onInput);
    window.addEventListener("keydown", hold, true);
    window.addEventListener("keyup", hold, true); // Space presses a button when it is released
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("input", onInput);
      window.removeEventListener("keydown", hold, true);
      window.removeEventListener("keyup", hold, true);
    };
  }, [writes]);
}

/** Before the letter arrives, which then goes there; a chat that is still opening has it in its draft. */
function toComposer(letter: string): void {
  const field = composer();
  const chatId = chatAt(location.hash);
  if (field) field.focus();
  else if (chatId) keepDraft(chatId, draftOf(chatId) + letter);
}

function composer(): HTMLTextAreaElement | null {
  return document.querySelector("textarea#composer");
}
