// What a program printed, as text that is safe to show: no escape reaches the page, and nothing turns other text round. Pure and linear.
import { type VisibleText, visible } from "../content/visible";

const ESCAPE = "\u001b";
const BELL = "\u0007";
const LONGEST = 4_096; // characters of one escape; beyond, it is none

/** The text without terminal escapes; a lone carriage return writes the line anew, as a terminal does. */
export function printedText(raw: string): VisibleText {
  return visible(lines(withoutEscapes(raw)));
}

function withoutEscapes(raw: string): string {
  if (!raw.includes(ESCAPE)) return raw;
  const kept: string[] = [];
  let from = 0;
  for (let at = raw.indexOf(ESCAPE); at >= 0; at = raw.indexOf(ESCAPE, from)) {
    kept.push(raw.slice(from, at));
    from = escapeEnd(raw, at + 1);
  }
  kept.push(raw.slice(from));
  return kept.join("");
}

/** Where the escape that begins before `at` ends. */
function escapeEnd(raw: string, at: number): number {
  const kind = raw[at];
  const last = Math.min(raw.length, at + LONGEST);
  if (kind === "[") {
    for (let end = at + 1; end < last; end += 1) if (raw[end]! >= "@" && raw[end]! <= "~") return end + 1;
    return last;
  }
  if (kind === "]" || kind === "P" || kind === "_" || kind === "^" || kind === "X") {
    for (let end = at + 1; end < last; end += 1) {
      if (raw[end] === BELL) return end + 1;
      if (raw[end] === ESCAPE) return raw[end + 1] === "\\" ? end + 2 : end;
    }
    return last;
  }
  return Math.min(raw.length, at + (kind === "(" || kind === ")" || kind === "#" ? 2 : 1));
}

/** Progress bars rewrite their line: only what would be left on the screen is kept. */
function lines(text: string): string {
  if (!text.includes("\r") && !text.includes("\b")) return text;
  return text.replaceAll("\r\n", "\n").split("\n").map(rewritten).join("\n");
}

function rewritten(line: string): string {
  const last = line.endsWith("\r") ? line.slice(0, -1) : line;
  const shown = last.slice(last.lastIndexOf("\r") + 1);
  if (!shown.includes("\b")) return shown;
  const kept: string[] = [];
  for (const sign of shown) {
    if (sign === "\b") kept.pop();
    else kept.push(sign);
  }
  return kept.join("");
}
