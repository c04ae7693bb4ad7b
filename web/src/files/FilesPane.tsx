// The files beside the chat: the tree, one file, what changed, and git. At phone width it lies over the chat.

import clsx from "clsx";
import { ArrowLeft, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { Path } from "../content/DiffView";
import { useLive } from "../state/live";
import { closeFile, closeFiles, openFiles, type Part, useFilesPane } from "../state/openFiles";
import { t } from "../texts/files";
import { IconButton } from "../ui/Button";
import { useNarrow } from "../ui/narrow";
import { Outcomes } from "../ui/Outcomes";
import { PaneEdge, usePaneSize } from "../ui/PaneEdge";
import { Toaster } from "../ui/Toaster";
import { useReadAgain } from "./acts";
import { Changes } from "./Changes";
import { FileTree } from "./FileTree";
import { FileView } from "./FileView";
import { GitPane } from "./GitPane";

const PARTS: readonly Part[] = ["files", "changes", "git"];

export default function FilesPane({ chatId, moment }: { chatId: string; moment: number }) {
  const { part, path, line } = useFilesPane();
  const narrow = useNarrow();
  const width = usePaneSize("files_width");
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    pane.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => () => closeFile(), [chatId]);
  const readAgain = useReadAgain();
  const read = useRef(moment); // opening the pane reads it
  useEffect(() => {
    if (read.current === moment) return;
    read.current = moment;
    readAgain();
  }, [moment, readAgain]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if ((event.target as HTMLElement).closest("dialog, [contenteditable], input, select, textarea")) return;
    event.preventDefault();
    if (part === "files" && path) closeFile();
    else closeFiles();
  };
  return (
    <aside
      ref={pane}
      id="files-pane"
      tabIndex={-1}
      aria-label={t.files}
      onKeyDown={onKey}
      style={narrow || width === null ? undefined : { width: `${width}%` }}
      className={clsx(
        "flex min-w-0 flex-col bg-surface outline-none",
        narrow ? "fixed inset-0 z-20" : "relative h-full shrink-0 border-l border-line",
        !narrow && width === null && "w-[min(46%,44rem)]",
      )}
    >
      {!narrow && <PaneEdge name="files_width" label={t.widthOfFiles} side="left" usual={46} />}
      <header className="flex h-14 shrink-0 items-center gap-1 border-b border-line px-2">
        <div role="tablist" aria-label={t.files} className="flex gap-1">
          {PARTS.map((one) => (
            <Tab key={one} part={one} current={part === one} />
          ))}
        </div>
        <IconButton label={t.closeFiles} onClick={closeFiles} className="ml-auto">
          <X size={17} aria-hidden />
        </IconButton>
      </header>
      <div role="tabpanel" aria-label={t.parts[part]} className="flex min-h-0 flex-1 flex-col">
        {part === "files" ? <Browser chatId={chatId} path={path} line={line} /> : null}
        {part === "git" ? <GitPane chatId={chatId} /> : null}
        {part === "changes" ? <Changes chatId={chatId} /> : null}
      </div>
      <Outcomes className="shrink-0 border-t border-line p-2" />
      {narrow && <Toaster at="below" />}
    </aside>
  );
}

function Tab({ part, current }: { part: Part; current: boolean }) {
  const onKey = (event: KeyboardEvent<HTMLButtonElement>) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const step = event.key === "ArrowRight" ? 1 : PARTS.length - 1;
    const next = PARTS[(PARTS.indexOf(part) + step) % PARTS.length]!;
    openFiles(next);
    document.getElementById(`files-tab-${next}`)?.focus();
  };
  return (
    <button
      id={`files-tab-${part}`}
      type="button"
      role="tab"
      aria-selected={current}
      tabIndex={current ? 0 : -1}
      onClick={() => openFiles(part)}
      onKeyDown={onKey}
      className={clsx(
        "min-h-9 rounded-lg px-3 text-sm font-medium thumb:min-h-11",
        current ? "bg-sunken text-ink" : "text-ink-2 hover:bg-sunken",
      )}
    >
      {t.parts[part]}
    </button>
  );
}

/** The tree and the file share the pane: side by side in a wide one. Else the file lies over the tree until it is closed, and the tree stays
 * as it was left. */
function Browser({ chatId, path, line }: { chatId: string; path: string | null; line: number | null }) {
  const title = useLive(({ workspace }) => workspace.split("/").at(-1) ?? "");
  return (
    <div className="@container flex min-h-0 flex-1">
      <div
        className={clsx(
          "min-h-0 flex-col",
          path ? "hidden w-52 shrink-0 border-r border-line @[40rem]:flex" : "flex min-w-0 flex-1",
        )}
      >
        <p className="truncate px-3.5 pt-2 text-xs font-medium text-ink-3">{title}</p>
        <FileTree chatId={chatId} path={path} />
      </div>
      {path && (
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <div className="flex items-center gap-1 border-b border-line px-1.5 py-1">
            <IconButton label={t.backToTheTree} onClick={closeFile} className="!size-8 thumb:!size-11">
              <ArrowLeft size={16} aria-hidden />
            </IconButton>
            <h2 className="flex min-w-0 flex-1">
              <Path path={path} className="text-[13px] font-medium" />
            </h2>
          </div>
          <FileView key={path} chatId={chatId} path={path} line={line} />
        </div>
      )}
    </div>
  );
}
