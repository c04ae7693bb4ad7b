// A unified diff as files and their numbered lines. Pure. A hunk's own counts say where it ends: a line of a file may look like a header.

export type DiffLine =
  | { kind: "hunk"; text: string }
  | { kind: "note"; text: string }
  | { kind: "same" | "added" | "removed"; text: string; before: number | null; after: number | null };

export interface FileDiff {
  path: string;
  lines: DiffLine[];
  added: number;
  removed: number;
}

export interface Diff {
  files: FileDiff[];
  added: number;
  removed: number;
  /** What is said of the changes that are left out; empty if none are. */
  rest: string;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Where one stands in a hunk, and how many lines of each side are still to come. */
interface Place {
  before: number;
  after: number;
  oldLeft: number;
  newLeft: number;
}

export function readDiff(text: string): Diff {
  const files: FileDiff[] = [];
  let rest = "";
  const place: Place = { before: 0, after: 0, oldLeft: 0, newLeft: 0 };
  for (const line of text.replace(/\n$/, "").split("\n")) {
    if (line.startsWith("\\")) continue; // no newline at the end of a file
    const file = files.at(-1);
    if (file && (place.oldLeft > 0 || place.newLeft > 0)) readLine(file, line, place);
    else if (line.startsWith("… ")) rest = line;
    else readHeader(files, line, place);
  }
  return { files, added: sum(files, "added"), removed: sum(files, "removed"), rest };
}

/** One of several, each file once and in the order they were first touched. */
export function together(diffs: readonly Diff[]): Diff {
  const files = new Map<string, FileDiff>();
  for (const { path, lines, added, removed } of diffs.flatMap((diff) => diff.files)) {
    const known = files.get(path);
    files.set(
      path,
      known
        ? { path, lines: [...known.lines, ...lines], added: known.added + added, removed: known.removed + removed }
        : { path, lines, added, removed },
    );
  }
  const all = [...files.values()];
  return {
    files: all,
    added: sum(all, "added"),
    removed: sum(all, "removed"),
    rest: diffs.find(({ rest }) => rest)?.rest ?? "",
  };
}

const NOT_DRAWN = "not drawn line by line"; // what the server says of a file whose lines it left out
const FOLDER_ONLY = /^(nothing → folder|folder → nothing)$/;
const FILES_IN_FOLDER = /^with ([\d,]+) (?:more )?files in it:$/; // a removed folder's files whose lines were left out

/** Whether lines were added or removed that this diff does not show. */
export function isPartial({ files, rest }: Diff): boolean {
  return rest !== "" || files.some(({ lines }) => lines.some((line) => isNote(line, NOT_DRAWN))) || listed(files) > 0;
}

/** How many files the diff is about: a removed folder counts as the files that went with it. */
export function fileCount({ files }: Diff): number {
  return listed(files) + files.filter((file) => listed([file]) === 0).length;
}

function listed(files: readonly FileDiff[]): number {
  const counts = files.flatMap(({ lines }) =>
    lines.map(({ kind, text }) =>
      Number((kind === "note" ? FILES_IN_FOLDER.exec(text)?.[1] : "")?.replaceAll(",", "")),
    ),
  );
  return counts.reduce((all, count) => all + (count || 0), 0);
}

/** The same without folders that came or went with files in them: those files stand for them. */
export function withoutFolders(diff: Diff): Diff {
  const parents = new Set<string>();
  for (const { path } of diff.files) {
    for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
      const parent = path.slice(0, cut);
      if (parents.has(parent)) break;
      parents.add(parent);
    }
  }
  const isFolder = ({ path, lines }: FileDiff) =>
    parents.has(path) && lines.length > 0 && lines.every(({ kind, text }) => kind === "note" && FOLDER_ONLY.test(text));
  return { ...diff, files: diff.files.filter((file) => !isFolder(file)) };
}

/** The same without these entries and what lies in them. */
export function withoutPaths(diff: Diff, entries: readonly string[]): Diff {
  if (entries.length === 0) return diff;
  const isIn = (path: string) => entries.some((entry) => path === entry || path.startsWith(`${entry}/`));
  const files = diff.files.filter(({ path }) => !isIn(path));
  return { ...diff, files, added: sum(files, "added"), removed: sum(files, "removed") };
}

/** The lines side by side, by their index: old and new. What stands on both sides has the same index twice; what is on one side, null. */
export function sideBySide(lines: readonly DiffLine[]): [number | null, number | null][] {
  const rows: [number | null, number | null][] = [];
  let [removed, added]: [number[], number[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      rows.push([removed[at] ?? null, added[at] ?? null]);
    [removed, added] = [[], []];
  };
  lines.forEach(({ kind }, at) => {
    if (kind === "removed") {
      if (added.length > 0) flush();
      removed.push(at);
    } else if (kind === "added") added.push(at);
    else {
      flush();
      rows.push([at, at]);
    }
  });
  flush();
  return rows;
}

function isNote(line: DiffLine, beginning: string): boolean {
  return line.kind === "note" && line.text.startsWith(beginning);
}

function readLine(file: FileDiff, line: string, place: Place): void {
  const text = line.slice(1);
  if (line.startsWith("+")) {
    file.added += 1;
    place.newLeft -= 1;
    file.lines.push({ kind: "added", text, before: null, after: place.after++ });
  } else if (line.startsWith("-")) {
    file.removed += 1;
    place.oldLeft -= 1;
    file.lines.push({ kind: "removed", text, before: place.before++, after: null });
  } else if (line === "" || line.startsWith(" ")) {
    place.oldLeft -= 1;
    place.newLeft -= 1;
    file.lines.push({ kind: "same", text, before: place.before++, after: place.after++ });
  } else {
    [place.oldLeft, place.newLeft] = [0, 0]; // a long diff was cut here, and says so
    file.lines.push({ kind: "note", text: line });
  }
}

function readHeader(files: FileDiff[], line: string, place: Place): void {
  const hunk = HUNK.exec(line);
  const file = files.at(-1);
  if (hunk) {
    const at = (group: number) => Number(hunk[group] ?? 1);
    Object.assign(place, { before: at(1), oldLeft: at(2), after: at(3), newLeft: at(4) } satisfies Place);
    (file ?? begun(files, "")).lines.push({ kind: "hunk", text: line });
  } else if (line.startsWith("--- ")) {
    begun(files, named(line));
  } else if (line.startsWith("+++ ")) {
    if (file && line !== "+++ /dev/null") file.path = named(line);
  } else if (line.startsWith("rename from ")) {
    begun(files, line.slice("rename from ".length));
  } else if (file && line.startsWith("rename to ")) {
    file.path += ` → ${line.slice("rename to ".length)}`;
  } else if (file && line.trim()) {
    file.lines.push({ kind: "note", text: line }); // why there are no lines to be seen
  }
}

function begun(files: FileDiff[], path: string): FileDiff {
  const file: FileDiff = { path, lines: [], added: 0, removed: 0 };
  files.push(file);
  return file;
}

function named(header: string): string {
  return header.slice(4).replace(/^[ab]\//, "");
}

function sum(files: readonly FileDiff[], count: "added" | "removed"): number {
  return files.reduce((all, file) => all + file[count], 0);
}
