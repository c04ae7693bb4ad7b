// The rows of a tree whose folders are read when they are opened, and where the keys lead in it. Pure.
import type { Entry, Folder } from "./acts";

export type TreeRow =
  | { kind: "entry"; key: string; entry: Entry; depth: number; open: boolean; at: number; of: number }
  | { kind: "more"; key: string; folder: string; depth: number; left: number }
  | { kind: "wait" | "fault"; key: string; folder: string; depth: number };

export const ROOT = ".";

interface Known {
  data?: Folder | undefined;
  isError: boolean;
}

export function rowsOf(folders: ReadonlyMap<string, Known>, folder = ROOT, depth = 1): TreeRow[] {
  const known = folders.get(folder);
  if (!known) return [];
  if (!known.data) return [{ kind: known.isError ? "fault" : "wait", key: `${folder}/?`, folder, depth }];
  const { entries, next, total } = known.data;
  const rows = entries.flatMap((entry, index): TreeRow[] => {
    const open = entry.kind === "folder" && entry.path !== null && folders.has(entry.path);
    const key = entry.path ?? `${folder}/${entry.name}`;
    const row: TreeRow = { kind: "entry", key, entry, depth, open, at: index + 1, of: total };
    return open && entry.path !== null ? [row, ...rowsOf(folders, entry.path, depth + 1)] : [row];
  });
  return next ? [...rows, { kind: "more", key: `${folder}/…`, folder, depth, left: total - entries.length }] : rows;
}

export type Move = { to: number } | { open: string } | { close: string } | { choose: number } | null;

/** What a key means at this row. */
export function moveBy(key: string, rows: readonly TreeRow[], at: number): Move {
  const row = rows[at];
  const folder = row?.kind === "entry" && row.entry.kind === "folder" ? row.entry.path : null;
  switch (key) {
    case "ArrowDown":
      return { to: Math.min(rows.length - 1, at + 1) };
    case "ArrowUp":
      return { to: Math.max(0, at - 1) };
    case "Home":
      return { to: 0 };
    case "End":
      return { to: rows.length - 1 };
    case "ArrowRight":
      if (row?.kind !== "entry" || !folder) return null;
      return row.open ? { to: Math.min(rows.length - 1, at + 1) } : { open: folder };
    case "ArrowLeft":
      if (row?.kind === "entry" && row.open && folder) return { close: folder };
      return row ? parentOf(rows, at) : null;
    case "Enter":
    case " ":
      return { choose: at };
    default:
      return key.length === 1 ? startingWith(key, rows, at) : null;
  }
}

function parentOf(rows: readonly TreeRow[], at: number): Move {
  const depth = rows[at]!.depth;
  for (let above = at - 1; above >= 0; above--) if (rows[above]!.depth < depth) return { to: above };
  return null;
}

/** The next name that begins with this letter. */
function startingWith(letter: string, rows: readonly TreeRow[], at: number): Move {
  for (let step = 1; step <= rows.length; step++) {
    const row = rows[(at + step) % rows.length];
    if (row?.kind === "entry" && row.entry.name.toLowerCase().startsWith(letter.toLowerCase()))
      return { to: (at + step) % rows.length };
  }
  return null;
}

/** The folders above a path, outermost first. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
