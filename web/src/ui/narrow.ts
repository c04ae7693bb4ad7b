// Whether the page is as narrow as a phone: for what is placed elsewhere there. What only looks different is the stylesheet's.
import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 767px)";
const WIDE = "(min-width: 1200px)";

export function isNarrow(): boolean {
  return matchMedia(NARROW).matches;
}

/** Whether fingers do the typing, on the screen itself. */
export function isThumb(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}

export function useNarrow(): boolean {
  return useSyncExternalStore(watchNarrow, isNarrow);
}

/** Whether there is room for two columns of code. */
export function useWide(): boolean {
  return useSyncExternalStore(watchWide, isWide);
}

function isWide(): boolean {
  return matchMedia(WIDE).matches;
}

const watchNarrow = watching(NARROW);
const watchWide = watching(WIDE);

function watching(query: string): (changed: () => void) => () => void {
  return (changed) => {
    const width = matchMedia(query);
    width.addEventListener("change", changed);
    return () => width.removeEventListener("change", changed);
  };
}
