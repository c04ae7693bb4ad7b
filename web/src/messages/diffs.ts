// A unified diff as lines with their numbers. Pure.

export type DiffLine =
  | { kind: "file"; text: string }
  | { kind: "hunk"; text: string }
  | { kind: "same" | "added" | "removed"; text: string; before: number | null; after: number | null };

export interface Diff {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function readDiff(text: string): Diff {
  const diff: Diff = { lines: [], added: 0, removed: 0 };
  let before = 0;
  let after = 0;
  let inHunk = false;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [before, after, inHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      diff.lines.push({ kind: "hunk", text: line });
    } else if (!inHunk || line.startsWith("\\")) {
      if (line.startsWith("+++ ")) diff.lines.push({ kind: "file", text: line.slice(4) });
    } else if (line.startsWith("+")) {
      diff.added += 1;
      diff.lines.push({ kind: "added", text: line.slice(1), before: null, after: after++ });
    } else if (line.startsWith("-")) {
      diff.removed += 1;
      diff.lines.push({ kind: "removed", text: line.slice(1), before: before++, after: null });
    } else if (line.startsWith("diff ") || line.startsWith("Index: ")) {
      inHunk = false;
    } else {
      diff.lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    }
  }
  return diff;
}
