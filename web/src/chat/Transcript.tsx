// The rows of a chat, virtualised. It stays at the end while the end is in view, and leaves the reader alone otherwise.
import { ArrowDown } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import type { Row } from "../state/rows";

interface Props {
  rows: readonly Row[];
  hasEarlier: boolean;
  loadingEarlier: boolean;
  onEarlier: () => void;
  render: (row: Row) => ReactNode;
  tail: ReactNode;
  target: string | null;
}

const NEAR_END = 80;

export function Transcript({ rows, hasEarlier, loadingEarlier, onEarlier, render, tail, target }: Props) {
  const list = useRef<VListHandle>(null);
  const box = useRef<HTMLDivElement>(null);
  const sticks = useRef(target === null);
  const lastOffset = useRef(0);
  const [atEnd, setAtEnd] = useState(true);
  const firstKey = rows[0]?.key;
  const previousFirst = useRef(firstKey);
  // Older rows came in front: the view stays on what was being read.
  const shift = previousFirst.current !== firstKey && rows.some(({ key }) => key === previousFirst.current);
  useLayoutEffect(() => {
    previousFirst.current = firstKey;
  }, [firstKey]);
  const stick = useCallback(() => {
    if (sticks.current) list.current?.scrollTo(list.current.scrollSize);
  }, []);
  useLayoutEffect(stick, [rows, tail, stick]);
  useEffect(() => {
    const content = box.current?.firstElementChild?.firstElementChild;
    if (!content) return;
    const watch = new ResizeObserver(stick); // rows find their height after they are shown, and code its colours
    watch.observe(content);
    return () => watch.disconnect();
  }, [stick]);
  useEffect(() => {
    const at = target ? rows.findIndex(({ key }) => key === target) : -1;
    if (at < 0) return;
    sticks.current = false;
    list.current?.scrollToIndex(at, { align: "start" });
    // Only when the link changes: later rows must not pull the reader back.
  }, [target]);
  const onScroll = (offset: number) => {
    const handle = list.current;
    if (!handle) return;
    const end = handle.scrollSize - handle.viewportSize - offset < NEAR_END;
    if (end) sticks.current = true;
    else if (offset < lastOffset.current) sticks.current = false; // a growing end is no scrolling up
    lastOffset.current = offset;
    setAtEnd(end);
    if (offset < 200 && hasEarlier && !loadingEarlier) onEarlier();
  };
  return (
    <div ref={box} role="log" aria-live="off" aria-label="Conversation" className="relative min-h-0 flex-1">
      <VList ref={list} shift={shift} onScroll={onScroll} tabIndex={0} className="h-full outline-offset-[-2px]">
        {rows.map((row) => (
          <div key={row.key} id={`row-${row.key}`} className="mx-auto w-full max-w-3xl px-4 py-2.5 sm:px-6">
            {render(row)}
          </div>
        ))}
        <div key="tail" className="mx-auto w-full max-w-3xl px-4 pt-1 pb-6 sm:px-6">
          {tail}
        </div>
      </VList>
      {!atEnd && (
        <button
          type="button"
          onClick={() => {
            sticks.current = true;
            stick();
          }}
          className="rise absolute bottom-3 left-1/2 inline-flex -translate-x-1/2 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-3.5 py-1.5 text-sm shadow-md hover:bg-sunken"
        >
          <ArrowDown size={14} aria-hidden /> Latest
        </button>
      )}
    </div>
  );
}
