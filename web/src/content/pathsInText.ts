// Paths in free text: in the words of a model, and in what a command printed. Pure, and linear in the text.

interface TextPart {
  text: string;
  /** Set if these words name a file; relative to the workspace, or absolute. */
  path?: string;
  line?: number | null;
}

/** `prose`: a name without a folder is no path (Node.js). `code`: it is. `output`: it is if a line stands behind it. */
export type TextKind = "prose" | "code" | "output";

const BETWEEN = /([^\p{L}\p{N}_@+.~/:#-]+)/u;
const WITH_LINE = /^([^:#]+)(?::(\d{1,7})(?::\d{1,5})?|#L(\d{1,7}))?$/;
const ENDING = /\.[A-Za-z]\w{0,9}$/;
const KNOWN_ENDING =
  /\.(?:c|cc|cfg|conf|cpp|cs|css|csv|ex|go|h|hpp|html?|ini|ipynb|java|jsx?|jsonc?|kt|lock|lua|md|mjs|cjs|php|pyi?|rb|rs|rst|scss|sh|sql|svg|swift|toml|tsx?|txt|vue|xml|ya?ml|zig)$/i;
const KNOWN_NAME = /^(?:Makefile|Dockerfile|README|LICENSE|CHANGELOG|\.gitignore|\.dockerignore|\.editorconfig)$/;

/** The text in order and whole. At most `most` paths are named; the rest stays text. */
export function partsOf(text: string, kind: TextKind, most = 200): TextPart[] {
  const parts: TextPart[] = [];
  let plain = "";
  let named = 0;
  for (const word of text.split(BETWEEN)) {
    const found = named < most ? pathIn(word, kind) : null;
    if (!found) {
      plain += word;
      continue;
    }
    named += 1;
    if (plain) parts.push({ text: plain });
    parts.push(found);
    plain = word.slice(found.text.length);
  }
  if (plain) parts.push({ text: plain });
  return parts;
}

function pathIn(word: string, kind: TextKind): TextPart | null {
  const text = withoutEnd(word);
  if (text.length < 3 || text.length > 1_000 || !/[./A-Z]/.test(text)) return null;
  const [, path, line, anchor] = WITH_LINE.exec(text) ?? [];
  if (!path || path.startsWith("~") || path.includes("//") || path.split("/").includes("..")) return null;
  const at = line ?? anchor;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const inFolder = path.lastIndexOf("/") > 0;
  const isFile = inFolder ? ENDING.test(name) || KNOWN_NAME.test(name) : isNamed(name, kind, at !== undefined);
  return isFile ? { text, path, line: at === undefined ? null : Number(at) } : null;
}

function isNamed(name: string, kind: TextKind, hasLine: boolean): boolean {
  if (kind === "prose" || (kind === "output" && !hasLine)) return false;
  return KNOWN_NAME.test(name) || (KNOWN_ENDING.test(name) && !name.startsWith("."));
}

/** A sentence's own end is not the path's. */
function withoutEnd(word: string): string {
  let end = word.length;
  while (end > 0 && ".:#-+~".includes(word[end - 1]!)) end -= 1;
  return word.slice(0, end);
}
