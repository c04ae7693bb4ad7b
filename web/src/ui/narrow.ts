// Whether the page is as narrow as a phone: for what is placed elsewhere there. What only looks different is the stylesheet's.
import { type RefObject, useLayoutEffect, useState, useSyncExternalStore } from "react";

const NARROW = "(max-width: 767px)";
const TWO_COLUMNS = 640; // pixels; a stylesheet's `@max-[639px]` is its opposite

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

/** Whether this element has room for two columns of code. */
export function useTwoColumns(element: RefObject<HTMLElement | null>): boolean {
  const [fits, setFits] = useState(false);
  useLayoutEffect(() => {
    if (!element.current) return;
    const look = () => setFits((element.current?.clientWidth ?? 0) >= TWO_COLUMNS);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element.current);
    return () => watch.disconnect();
  }, [element]);
  return fits;
}

const watchNarrow = watching(NARROW);

function watching(query: string): (changed: () => void) => () => void {
  return (changed) => {
    const width = matchMedia(query);
    width.addEventListener("change", changed);
    return () => width.removeEventListener("change", changed);
  };
}
