// Which key decides what, and when. A key decides only in the dock that has the focus, after a pause, and if it stays alone:
// a letter that begins a word is not a decision, whoever typed it and wherever.

import { type RefObject, useEffect, useRef, useState } from "react";
import { isPlainKey, PAUSE_MS, sinceTyped, typeInComposer } from "../composer/typedText";
import { takesText } from "../ui/hotkeys";

export type Choice = "allow" | "deny" | "allow-all" | "next" | "previous";

/** Nothing is decided so soon after something new appeared. */
export const GUARD_MS = 400;
/** A letter counts when no other follows for so long. */
export const ALONE_MS = 300;

const CHOICES: Readonly<Record<string, Choice>> = { y: "allow", Y: "allow-all", n: "deny" };
const MOVES: Readonly<Record<string, Choice>> = { ArrowDown: "next", ArrowUp: "previous" };

/** Handles the keys of `dock`; tells whether letters decide now. `newest` changes when something new is shown. */
export function useDecisionKeys(
  dock: RefObject<HTMLElement | null>,
  newest: string | undefined,
  onChoice: (choice: Choice) => void,
): boolean {
  const since = useRef(0);
  const choose = useRef(onChoice);
  choose.current = onChoice;
  useEffect(() => {
    since.current = performance.now();
  }, [newest]);
  const decides = () =>
    focused(dock.current) && sinceTyped() >= PAUSE_MS && performance.now() - since.current >= GUARD_MS;
  useEffect(() => {
    let waiting: { letter: string; timer: number } | null = null;
    const take = () => {
      const letter = waiting?.letter ?? null;
      window.clearTimeout(waiting?.timer);
      waiting = null;
      return letter;
    };
    const onKey = (event: KeyboardEvent) => {
      if (!isPlainKey(event)) {
        if (event.key === "Escape") take();
        if (waiting && (event.key === " " || event.key === "Enter")) {
          event.preventDefault();
          if (event.key === " ") typeInComposer(`${take()} `);
          return;
        }
        const move = isInside(event, dock.current) && MOVES[event.key];
        if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        return choose.current(move);
      }
      const before = take();
      if (before !== null) return typeInComposer(before); // a word begins: this letter follows it there
      const choice = CHOICES[event.key];
      if (!choice || event.repeat || !isInside(event, dock.current) || !decides()) return;
      event.preventDefault();
      const timer = window.setTimeout(() => {
        waiting = null;
        choose.current(choice);
      }, ALONE_MS);
      waiting = { letter: event.key, timer };
    };
    document.addEventListener("keydown", onKey);
    return () => {
      take();
      document.removeEventListener("keydown", onKey);
    };
  }, [newest]);
  return useWhile(decides, newest);
}

function isInside(event: KeyboardEvent, dock: HTMLElement | null): boolean {
  return event.target instanceof Node && dock?.contains(event.target) === true && !takesText(event.target);
}

function focused(dock: HTMLElement | null): boolean {
  return dock?.contains(document.activeElement) === true && !takesText(document.activeElement);
}

/** Looks again and again while something waits, since time alone makes it true; whatever ends it is seen at once. */
function useWhile(check: () => boolean, newest: string | undefined): boolean {
  const [now, setNow] = useState(false);
  const latest = useRef(check);
  latest.current = check;
  useEffect(() => {
    setNow(false);
    if (newest === undefined) return;
    const look = () => setNow(latest.current());
    const timer = window.setInterval(look, 100);
    document.addEventListener("focusin", look);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener("focusin", look);
    };
  }, [newest]);
  return newest !== undefined && now;
}
