// All that a turn changed, to be read file by file: the files beside their lines, which of them were opened, and the way from one to the next.
// Of thousands of files, only those in sight are in the page, and the chosen one.

import clsx from "clsx";
import { Check, ChevronRight } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import { Lines, SplitToggle } from "../content/DiffLines";
import { DiffCount, Path } from "../content/DiffView";
import type { Diff, FileDiff } from "../content/diffs";
import { t } from "../texts/chat";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { Dialog, wantsFocus } from "../ui/Dialog";

const LINE_HEIGHT = 32; // px, until it is measured

export default function TurnReview({ diff, onClose }: { diff: Diff; onClose: () => void }) {
  const [at, setAt] = useState(0);
  const [seen, setSeen] = useState<ReadonlySet<number>>(new Set([0]));
  const lines = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const name = useId();
  const { files } = diff;
  const file = files[at];
  const go = (to: number) => {
    setAt(to);
    setSeen((all) => new Set(all).add(to));
  };
  useEffect(() => {
    if (lines.current) lines.current.scrollTop = 0;
    list.current?.scrollToIndex(at, { align: "nearest" });
  }, [at]);
  const onKey = (key: string) => {
    const to =
      key === "ArrowDown"
        ? at + 1
        : key === "ArrowUp"
          ? at - 1
          : key === "Home"
            ? 0
            : key === "End"
              ? files.length - 1
              : -1;
    if (to >= 0 && to < files.length) go(to);
    return to >= 0;
  };
  if (!file) return null;
  return (
    <Dialog title={t.whatThisTurnChanged} open onClose={onClose} page>
      <div className="flex h-full min-h-0 flex-col gap-3 md:flex-row">
        <div
          ref={wantsFocus}
          tabIndex={0}
          role="listbox"
          aria-label={t.changedFiles}
          aria-activedescendant={`${name}-${at}`}
          onKeyDown={(event) => onKey(event.key) && event.preventDefault()}
          className="max-h-36 shrink-0 overflow-y-auto rounded-xl border border-line p-1 md:max-h-none md:w-80"
        >
          <Virtualizer ref={list} itemSize={LINE_HEIGHT} keepMounted={[at]}>
            {files.map((one, place) => (
              <FileLine
                key={one.path}
                id={`${name}-${place}`}
                file={one}
                place={place + 1}
                count={files.length}
                chosen={place === at}
                seen={seen.has(place)}
                onChoose={() => go(place)}
              />
            ))}
          </Virtualizer>
        </div>
        <section
          aria-label={t.changesOf(file.path)}
          className="@container flex min-h-0 min-w-0 flex-1 flex-col rounded-xl border border-line"
        >
          <header className="flex min-h-9 items-center gap-3 border-b border-line px-3.5 text-xs">
            <Path path={file.path} className="text-ink" />
            <DiffCount added={file.added} removed={file.removed} />
            <span className="ml-auto">
              <SplitToggle />
            </span>
          </header>
          <div
            ref={lines}
            tabIndex={0}
            role="group"
            aria-label={t.changedLines}
            className="min-h-0 flex-1 overflow-auto py-1"
          >
            <Lines key={at} lines={file.lines} path={file.path} />
          </div>
        </section>
      </div>
      <footer className="flex flex-wrap items-center gap-2 pt-3 text-sm text-ink-2">
        <span role="status" className="mr-auto">
          {seen.size === files.length
            ? t.allLookedAt(number(files.length))
            : t.ofLookedAt(number(seen.size), number(files.length))}
          {diff.rest && ` · ${diff.rest}`}
        </span>
        {at < files.length - 1 ? (
          <Button look="primary" icon={<ChevronRight size={15} aria-hidden />} onClick={() => go(at + 1)}>
            {t.nextFile}
          </Button>
        ) : (
          <Button look="primary" onClick={onClose}>
            {t.close}
          </Button>
        )}
      </footer>
    </Dialog>
  );
}

function FileLine({
  id,
  file,
  place,
  count,
  chosen,
  seen,
  onChoose,
}: {
  id: string;
  file: FileDiff;
  place: number;
  count: number;
  chosen: boolean;
  seen: boolean;
  onChoose: () => void;
}) {
  return (
    <div
      id={id}
      role="option"
      aria-posinset={place}
      aria-setsize={count}
      aria-selected={chosen}
      onClick={onChoose}
      className={clsx(
        "flex min-h-8 cursor-pointer items-center gap-2 rounded-lg px-2 text-xs thumb:min-h-11",
        chosen ? "bg-sunken" : "hover:bg-sunken/60",
      )}
    >
      <Check
        size={13}
        aria-label={seen ? t.lookedAt : undefined}
        aria-hidden={!seen}
        className={clsx("shrink-0 text-good", !seen && "invisible")}
      />
      <Path path={file.path} className={chosen ? "text-ink" : "text-ink-2"} />
      <span className="ml-auto">
        <DiffCount added={file.added} removed={file.removed} />
      </span>
    </div>
  );
}
