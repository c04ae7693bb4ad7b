// The rows of a chat, virtualised. It stays at the end while the end is in view, and leaves the reader alone otherwise.

import clsx from "clsx";
import { ArrowDown } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { type Row, rowHolding } from "../state/rows";
import { t } from "../texts/chat";
import { Folds } from "../ui/Fold";
import { useHeldPlace } from "./heldPlace";
import { Printed } from "./Printed";

interface Props {
  rows: readonly Row[];
  /** The oldest message that is loaded: when it changes, rows came in front. */
  first: string | null;
  hasEarlier: boolean;
  loadingEarlier: boolean;
  onEarlier: () => void;
  render: (row: Row) => ReactNode;
  tail: ReactNode;
  /** A message to stand at. */
  target: string | null;
}

const NEAR_END = 80;
const CARD = 240; // what stands at the end, as Continue, is not covered by the way to it
const NEAR_START = 600;
const TYPICAL = 100; // a row's height before it is known: too small a guess draws rows that nobody sees
const AHEAD = 600; // px beyond the window in which rows are drawn: who scrolls fast meets rows whose height is known
const UNFOLDING = 300; // ms after a click in which what grows is what was clicked
const UNFOLDING_ALONE = 5_000; // where no row came or grew since: a slow machine takes its time to draw it
const TAIL = "tail";
// As wide as the composer below: beside a scroll bar the room that is kept for it at both sides belongs to the margin.
const COLUMN = "mx-auto w-full max-w-3xl px-4 sm:max-w-[46.75rem] sm:px-3.5";
const UPWARD = new Set(["ArrowUp", "PageUp", "Home", " "]);

export function Transcript({ rows, first, hasEarlier, loadingEarlier, onEarlier, render, tail, target }: Props) {
  const list = useRef<VListHandle>(null);
  const [folds] = useState(() => new Map<string, boolean>()); // a row that is scrolled out of the page is no longer there to know
  const sticking = useSticking(target === null, rows, tail);
  const place = useHeldPlace(list, sticking.box, rows, TYPICAL);
  const shift = useShift(first);
  const aimed = target ? rowHolding(rows, target) : -1;
  useAim(list, target, aimed, sticking.release);
  const items = useMemo(() => [...rows, TAIL] as const, [rows]);
  const more = () => {
    const handle = list.current;
    if (!handle || !hasEarlier || loadingEarlier) return;
    const nearStart = handle.scrollOffset < NEAR_START && !sticking.holds(); // who stands at the end is not on the way up
    if (nearStart || handle.scrollSize <= handle.viewportSize) onEarlier();
  };
  useEffect(more); // what is loaded may not even fill the page
  const onScroll = (offset: number) => {
    const handle = list.current;
    if (!handle) return;
    const left = handle.scrollSize - handle.viewportSize - offset;
    sticking.scrolled(offset, left < NEAR_END);
    place.note();
    more();
  };
  const onWheel = ({ deltaY }: { deltaY: number }) => {
    sticking.hand();
    if (deltaY < 0 && list.current && list.current.scrollOffset > 0) sticking.release(); // before an answer that streams in pulls back
  };
  const onKeyDown = ({ key }: { key: string }) => {
    if (UPWARD.has(key)) sticking.hand();
  };
  const onClick = ({ target }: { target: EventTarget }) => {
    sticking.clicked(target);
    place.forget();
  };
  const { hand, press } = sticking;
  return (
    <div
      ref={sticking.box}
      role="log"
      aria-live="off"
      aria-label={t.conversation}
      className="group/log relative min-h-0 flex-1 overflow-hidden"
    >
      <Folds value={folds}>
        {/* the list hears no pointer while it scrolls and a moment after: a click on what has just come into view would be lost */}
        <VList
          ref={list}
          data={items}
          itemSize={TYPICAL}
          bufferSize={AHEAD}
          shift={shift}
          onScroll={onScroll}
          onResize={place.keep}
          onWheel={onWheel}
          onTouchMove={hand}
          onPointerDown={press}
          onKeyDown={onKeyDown}
          onClick={onClick}
          tabIndex={0}
          className="h-full outline-offset-[-2px] sm:[scrollbar-gutter:stable_both-edges] [&>*]:pointer-events-auto!"
        >
          {(item: Row | typeof TAIL, at: number) =>
            item === TAIL ? (
              <div key={TAIL} className={clsx(COLUMN, "pt-1 pb-6")}>
                {tail}
              </div>
            ) : (
              <div
                key={item.key}
                id={`row-${item.key}`}
                aria-current={at === aimed || undefined}
                className={clsx(COLUMN, "py-2.5", at === 0 && !hasEarlier && "pt-6", at === aimed && "aimed")}
              >
                {render(item)}
              </div>
            )
          }
        </VList>
      </Folds>
      <Printed rows={rows} hasEarlier={hasEarlier} render={render} />
      {loadingEarlier && (
        <p
          role="status"
          className="absolute top-2 left-1/2 -translate-x-1/2 rounded-full border border-line bg-surface px-3 py-1 text-xs text-ink-2 shadow-sm"
        >
          {t.olderMessages}
        </p>
      )}
      {sticking.away && (
        <button
          type="button"
          onClick={sticking.toEnd}
          className="rise absolute bottom-3 left-1/2 group-has-[[data-edits]:focus-within]/log:hidden inline-flex -translate-x-1/2 max-sm:right-3 max-sm:left-auto max-sm:translate-x-0 thumb:min-h-10 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-3.5 py-1.5 text-sm shadow-md hover:bg-sunken"
        >
          <ArrowDown size={14} aria-hidden /> {t.latest}
        </button>
      )}
    </div>
  );
}

type List = { readonly current: VListHandle | null };

/** Keeps the end in view until the reader scrolls up, and again once the end is reached or words of one's own are sent. */
function useSticking(initially: boolean, rows: readonly Row[], tail: ReactNode) {
  const box = useRef<HTMLDivElement>(null);
  const sticks = useRef(initially);
  const byHand = useRef(false); // a page that shrinks moves what is shown as well, and that is no wish
  const pressed = useRef(false); // what moves away under a pointer that is down is not clicked
  const [away, setAway] = useState(false);
  const clickedAt = useRef(Number.NEGATIVE_INFINITY);
  const clickedItem = useRef<{ item: HTMLElement; height: number } | null>(null);
  const shownRows = useRef(rows);
  const clickedRows = useRef<readonly Row[] | null>(null);
  const lastOffset = useRef(0);
  const stick = useCallback(() => {
    const scroller = box.current?.firstElementChild;
    // not the list's own scrollTo: it goes on aiming at the end for a while, against a reader who scrolls up meanwhile
    if (sticks.current && !pressed.current && scroller) scroller.scrollTop = scroller.scrollHeight;
  }, []);
  const look = useCallback(() => setAway(!sticks.current && toTheEnd(box.current?.firstElementChild) >= CARD), []);
  const grown = useCallback(() => {
    const since = performance.now() - clickedAt.current;
    const alone = clickedRows.current !== null && endAlike(clickedRows.current, shownRows.current);
    // What was opened must not be pushed out of sight; a button that made new rows come opened nothing.
    const unfolded = alone ? since < UNFOLDING_ALONE : since < UNFOLDING && growthOf(clickedItem.current) >= NEAR_END;
    if (unfolded && toTheEnd(box.current?.firstElementChild) >= NEAR_END) sticks.current = false;
    stick();
    look();
  }, [stick, look]);
  const toEnd = useCallback(() => {
    sticks.current = true;
    stick();
    look();
  }, [stick, look]);
  const sent = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const own = rows.findLast(isOwn)?.key;
    if (sent.current && own !== sent.current && isOwn(rows.at(-1))) sticks.current = true;
    sent.current = own;
    shownRows.current = rows;
  }, [rows]);
  useLayoutEffect(grown, [rows, tail, grown]);
  useEffect(() => {
    const scroller = box.current?.firstElementChild;
    const content = scroller?.firstElementChild;
    if (!content) return;
    const watch = new ResizeObserver(grown); // rows find their height after they are shown, and code its colours
    watch.observe(content);
    watch.observe(scroller); // a composer that grows takes its room from here, and must not cover Continue
    return () => watch.disconnect();
  }, [grown]);
  const scrolled = (offset: number, end: boolean) => {
    if (end) sticks.current = true;
    else if (byHand.current && offset < lastOffset.current) sticks.current = false;
    if (end) byHand.current = false;
    lastOffset.current = offset;
    look();
  };
  const holds = () => sticks.current;
  const release = useCallback(() => {
    sticks.current = false;
  }, []);
  const hand = useCallback(() => {
    byHand.current = true;
  }, []);
  const press = useCallback(
    ({ target, currentTarget }: { target: EventTarget; currentTarget: EventTarget }) => {
      if (target === currentTarget) hand(); // the list's own bar; a row is pressed to be used, not to be moved
      pressed.current = true;
      const released = new AbortController();
      const lift = () => {
        released.abort();
        pressed.current = false;
        requestAnimationFrame(grown); // the click comes next, and may unfold something
      };
      for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, lift, { signal: released.signal });
    },
    [hand, grown],
  );
  const clicked = useCallback((target: EventTarget) => {
    clickedAt.current = performance.now();
    clickedRows.current = shownRows.current;
    const items = box.current?.firstElementChild?.firstElementChild?.children ?? [];
    const item = Array.from(items).find((one) => target instanceof Node && one.contains(target));
    clickedItem.current = item instanceof HTMLElement ? { item, height: item.offsetHeight } : null;
  }, []);
  return { box, away, scrolled, holds, release, toEnd, hand, press, clicked };
}

/** How much is below what is shown, in px. */
const toTheEnd = (scroller: Element | null | undefined): number =>
  scroller ? scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop : 0;

const growthOf = (clicked: { item: HTMLElement; height: number } | null): number =>
  clicked?.item.isConnected ? clicked.item.offsetHeight - clicked.height : 0;

/** Whether no row came since, and the last one does not grow by itself. */
const endAlike = (before: readonly Row[], now: readonly Row[]): boolean =>
  before.length === now.length && before.at(-1)?.key === now.at(-1)?.key && now.at(-1)?.kind !== "draft";

const isOwn = (row: Row | undefined): boolean => row?.kind === "message" && row.message.role === "user";

/** True in the one render in which older rows came in front: the view stays on what was being read. */
function useShift(first: string | null): boolean {
  const before = useRef(first);
  const shift = before.current !== null && before.current !== first;
  useLayoutEffect(() => {
    before.current = first;
  }, [first]);
  return shift;
}

/** Once per link, as soon as its message is there: later rows must not pull the reader back. */
function useAim(list: List, target: string | null, at: number, release: () => void): void {
  const reached = useRef<string | null>(null);
  useEffect(() => {
    if (!target || at < 0 || reached.current === target) return;
    reached.current = target;
    release();
    list.current?.scrollToIndex(at, { align: "center" });
  }, [list, target, at, release]);
}
