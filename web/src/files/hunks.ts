// The hunks of one file's difference, each with the lines it is about in the file as it is now. Pure.
import { type DiffLine, readDiff } from "../content/diffs";

export interface Hunk {
  number: number;
  lines: DiffLine[];
  added: number;
  removed: number;
  /** First and last line in the file as it is now; null if nothing of it is there any more. */
  place: readonly [number, number] | null;
}

interface Hunks {
  hunks: Hunk[];
  /** What is said where there are no lines to compare. */
  notes: DiffLine[];
}

export function hunksOf(diff: string): Hunks {
  const lines = readDiff(diff).files.flatMap((file) => file.lines);
  const hunks: Hunk[] = [];
  const notes: DiffLine[] = [];
  for (const line of lines) {
    if (line.kind === "hunk") hunks.push({ number: hunks.length, lines: [], added: 0, removed: 0, place: null });
    const hunk = hunks.at(-1);
    if (!hunk || line.kind === "note") notes.push(line);
    else if (line.kind !== "hunk") {
      hunk.lines.push(line);
      if (line.kind === "added") hunk.added++;
      if (line.kind === "removed") hunk.removed++;
    }
  }
  return { hunks: hunks.map((hunk) => ({ ...hunk, place: placeOf(hunk.lines) })), notes };
}

function placeOf(lines: readonly DiffLine[]): readonly [number, number] | null {
  const numbers = lines.flatMap((line) => (line.kind === "added" && line.after !== null ? [line.after] : []));
  const around = lines.flatMap((line) => ("after" in line && line.after !== null ? [line.after] : []));
  const found = numbers.length > 0 ? numbers : around;
  return found.length > 0 ? [Math.min(...found), Math.max(...found)] : null;
}

/** What a comment quotes: the lines that changed, with their signs. */
export function quoteOf({ lines }: Hunk): string[] {
  return lines.flatMap((line) =>
    line.kind === "added" ? [`+${line.text}`] : line.kind === "removed" ? [`-${line.text}`] : [],
  );
}
