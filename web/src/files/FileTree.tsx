// The workspace as a tree. A folder is read when it is opened, and only the rows in view are drawn.

import clsx from "clsx";
import { Ban, ChevronRight, File, FileSymlink, Folder as FolderIcon, FolderOpen, Lock } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { openFile } from "../state/openFiles";
import { t } from "../texts/files";
import { number } from "../texts/language";
import { type Entry, useFolders } from "./acts";
import { ChangedMark } from "./ChangedMark";
import { foldersAbove, moveBy, ROOT, rowsOf, type TreeRow } from "./tree";

interface Props {
  chatId: string;
  /** The file that is shown: its folders are open, and its row is marked. */
  path: string | null;
}

export function FileTree({ chatId, path }: Props) {
  const [pages, setPages] = useState<ReadonlyMap<string, number>>(() => opened(new Map([[ROOT, 1]]), path));
  useEffect(() => setPages((now) => opened(now, path)), [path]);
  const folders = useFolders(chatId, pages);
  const rows = rowsOf(folders);
  const [current, setCurrent] = useState(0);
  const list = useRef<VListHandle>(null);
  const id = useId();
  const at = Math.min(current, Math.max(0, rows.length - 1));
  const turn = (folder: string, open: boolean) =>
    setPages((now) => {
      const next = new Map(now);
      if (open) next.set(folder, 1);
      else for (const known of now.keys()) if (known === folder || known.startsWith(`${folder}/`)) next.delete(known);
      return next;
    });
  const go = (to: number) => {
    setCurrent(to);
    list.current?.scrollToIndex(to, { align: "nearest" });
  };
  const shownPath = useRef<string | null>(null);
  useEffect(() => {
    const row = rows.findIndex((each) => each.kind === "entry" && each.entry.path === path);
    if (path !== null && (row < 0 || shownPath.current === path)) return; // its folders may still be read
    shownPath.current = path;
    if (path !== null && list.current?.viewportSize) go(row);
  });
  const choose = (index: number) => {
    const row = rows[index];
    setCurrent(index);
    if (row?.kind === "more") setPages((now) => new Map(now).set(row.folder, (now.get(row.folder) ?? 1) + 1));
    if (row?.kind !== "entry" || row.entry.path === null) return;
    if (row.entry.kind === "folder") turn(row.entry.path, !row.open);
    else if (row.entry.kind !== "other") openFile(row.entry.path);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = moveBy(event.key, rows, at);
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    if ("to" in move) go(move.to);
    else if ("choose" in move) choose(move.choose);
    else if ("open" in move) turn(move.open, true);
    else turn(move.close, false);
  };
  return (
    <VList
      ref={list}
      role="tree"
      tabIndex={0}
      aria-label={t.filesOfTheWorkspace}
      aria-activedescendant={rows[at] ? `${id}${at}` : undefined}
      onKeyDown={onKey}
      keepMounted={rows[at] ? [at] : []}
      className="group/tree min-h-0 flex-1 py-1 outline-none"
    >
      {rows.map((row, index) => (
        <Row
          key={row.key}
          id={`${id}${index}`}
          row={row}
          current={index === at}
          selected={row.kind === "entry" && row.entry.path === path}
          onChoose={() => choose(index)}
        />
      ))}
    </VList>
  );
}

function opened(pages: ReadonlyMap<string, number>, path: string | null): ReadonlyMap<string, number> {
  const missing = path ? foldersAbove(path).filter((folder) => !pages.has(folder)) : [];
  return missing.length > 0 ? new Map([...pages, ...missing.map((folder) => [folder, 1] as const)]) : pages;
}

interface RowProps {
  id: string;
  row: TreeRow;
  current: boolean;
  selected: boolean;
  onChoose: () => void;
}

function Row({ id, row, current, selected, onChoose }: RowProps) {
  const indent = { paddingInlineStart: `${row.depth * 14 - 4}px` };
  const isEntry = row.kind === "entry";
  const folder = isEntry && row.entry.kind === "folder";
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={row.depth}
      aria-expanded={folder && isEntry ? row.open : undefined}
      aria-selected={selected}
      aria-posinset={isEntry ? row.at : undefined}
      aria-setsize={isEntry ? row.of : undefined}
      onClick={onChoose}
      style={indent}
      className={clsx(
        "mx-1.5 flex min-h-7 cursor-pointer items-center gap-1.5 rounded-md pr-2 text-[13px] thumb:min-h-11 thumb:text-sm",
        selected ? "bg-sunken font-medium" : "hover:bg-sunken",
        current &&
          "group-focus-visible/tree:ring-2 group-focus-visible/tree:ring-(--focus) group-focus-visible/tree:ring-inset",
      )}
    >
      {isEntry ? <EntryWords entry={row.entry} open={row.open} /> : <OtherWords row={row} />}
    </div>
  );
}

function EntryWords({ entry, open }: { entry: Entry; open: boolean }) {
  const folder = entry.kind === "folder";
  const Icon = folder
    ? open
      ? FolderOpen
      : FolderIcon
    : entry.kind === "link"
      ? FileSymlink
      : entry.kind === "other"
        ? Ban
        : File;
  const unreachable = entry.path === null || entry.kind === "other";
  return (
    <>
      <ChevronRight
        size={13}
        aria-hidden
        className={clsx("shrink-0 text-ink-3 transition-transform", open && "rotate-90", !folder && "opacity-0")}
      />
      <Icon size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span
        dir="ltr"
        title={entry.target ? t.linkTo(entry.target) : unreachable ? t.cannotBeOpened : undefined}
        className={clsx("min-w-0 flex-1 truncate", (entry.ignored || unreachable) && "text-ink-3")}
      >
        {entry.name}
        {entry.ignored && <span className="sr-only">, {t.ignoredByGit}</span>}
        {unreachable && <span className="sr-only">, {t.cannotBeOpened}</span>}
      </span>
      {entry.protected && <Lock size={13} aria-label={t.protectedFile} className="shrink-0 text-warn" />}
      {entry.changed_by && !entry.ignored && <ChangedMark by={entry.changed_by} short />}
    </>
  );
}

function OtherWords({ row }: { row: Exclude<TreeRow, { kind: "entry" }> }) {
  if (row.kind === "more") return <span className="pl-5 text-ink-2 underline">{t.showMore(number(row.left))}</span>;
  return <span className="pl-5 text-ink-3">{row.kind === "wait" ? t.reading : t.folderCannotBeRead}</span>;
}
