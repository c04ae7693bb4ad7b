// Who scrolls faster than rows are drawn meets rows with a guessed height. When such a row at the top finds its own, the list keeps the
// row's top and moves everything below it. What is read stands below, so that is what must stay.

import { type RefObject, useCallback, useRef } from "react";
import type { VListHandle } from "virtua";
import type { Row } from "../state/rows";

interface Place {
  key: string;
  /** Below the top of the window, in px. */
  top: number;
}

type Ref<T> = Readonly<RefObject<T | null>>;

// There, moving the list stops it under the finger: worse than a small jump.
const STOPS_WHEN_MOVED = CSS.supports?.("-webkit-touch-callout", "none") ?? false;

/** `note` after each scroll, `keep` after rows found their height, `forget` when what was pressed may grow. */
export function useHeldPlace(list: Ref<VListHandle>, box: Ref<HTMLElement>, rows: readonly Row[], guess: number) {
  const held = useRef<Place | null>(null);
  const note = useCallback(() => {
    const scroller = box.current?.firstElementChild;
    held.current = list.current && scroller ? placeToHold(list.current, scroller.scrollTop, rows, guess) : null;
  }, [list, box, rows, guess]);
  const keep = useCallback(() => {
    const scroller = box.current?.firstElementChild;
    const at = held.current ? rows.findIndex(({ key }) => key === held.current?.key) : -1;
    if (held.current && at >= 0 && list.current && scroller && !STOPS_WHEN_MOVED) {
      const moved = list.current.getItemOffset(at) - scroller.scrollTop - held.current.top;
      if (Math.abs(moved) >= 1) scroller.scrollTop += moved;
    }
    note();
  }, [list, box, rows, note]);
  const forget = useCallback(() => {
    held.current = null;
  }, []);
  return { note, keep, forget };
}

/** The first row with a known height below the guessed ones, if the window begins with a guessed one. */
function placeToHold(list: VListHandle, scrollTop: number, rows: readonly Row[], guess: number): Place | null {
  const end = Math.min(list.findItemIndex(scrollTop + list.viewportSize), rows.length - 1);
  let at = list.findItemIndex(scrollTop);
  if (at > end || list.getItemSize(at) !== guess) return null;
  while (at <= end && list.getItemSize(at) === guess) at += 1;
  const row = at <= end ? rows[at] : undefined;
  return row ? { key: row.key, top: list.getItemOffset(at) - scrollTop } : null;
}
