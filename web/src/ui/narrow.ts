// Whether the page is as narrow as a phone: for what is placed elsewhere there. What only looks different is the stylesheet's.
import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 767px)";

export function isNarrow(): boolean {
  return matchMedia(NARROW).matches;
}

/** Whether fingers do the typing, on the screen itself. */
export function isThumb(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}

export function useNarrow(): boolean {
  return useSyncExternalStore(watchWidth, isNarrow);
}

function watchWidth(changed: () => void): () => void {
  const width = matchMedia(NARROW);
  width.addEventListener("change", changed);
  return () => width.removeEventListener("change", changed);
}
