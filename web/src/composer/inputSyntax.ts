// What is being typed besides words: a command at the start, its argument, or something named with @ at the caret. Pure.

export const COMMANDS = ["model", "role", "new", "restore", "remember", "compact", "export", "help"] as const;
export type CommandName = (typeof COMMANDS)[number];
/** Commands that take a word. */
export const WITH_ARGUMENT: readonly CommandName[] = ["model", "role", "export"];

export type CompletionContext =
  | { kind: "command"; text: string }
  | { kind: "argument"; command: CommandName; text: string }
  | { kind: "mention"; text: string; from: number };

export function completionContextAt(words: string, caret: number): CompletionContext | null {
  if (caret === words.length) {
    const name = /^\/([^\s/]*)$/.exec(words);
    if (name) return { kind: "command", text: name[1]! };
    const order = commandIn(words);
    if (order && WITH_ARGUMENT.includes(order.command)) return { kind: "argument", ...order };
  }
  const from = words.lastIndexOf("@", caret - 1);
  if (from < 0 || caret - from > 300 || !/(^|[\s(])$/.test(words.slice(Math.max(0, from - 1), from))) return null;
  const text = words.slice(from + 1, caret);
  return /[\s"]/.test(text) ? null : { kind: "mention", text, from };
}

/** The command that these words are; null if they are no command of the page. */
export function commandIn(words: string): { command: CommandName; text: string } | null {
  const note = /^\/remember\s+(?=\S)/.exec(words);
  if (note) return { command: "remember", text: words.slice(note[0].length).trim() };
  const found = /^\/([a-z]+)(?:\s+(\S*))?\s*$/.exec(words);
  const typed = found?.[1] === "undo" ? "restore" : found?.[1]; // its earlier name
  const command = COMMANDS.find((name) => name === typed);
  return command ? { command, text: found?.[2] ?? "" } : null;
}

/** A mention as the server reads it; a name with other characters is quoted. */
export function mention(kind: "file" | "folder" | "symbol" | "mcp" | "checkpoint", name: string): string {
  if (kind === "file" || kind === "folder") {
    const path = kind === "folder" ? `${name}/` : name;
    return /^[\p{L}\p{N}_.][\p{L}\p{N}_./-]*$/u.test(path) && !/[.-]$/.test(path) ? `@${path}` : `@"${path}"`;
  }
  return /\s/.test(name) ? `@${kind}:"${name}"` : `@${kind}:${name}`;
}

const MENTION =
  /(?<![\p{L}\p{N}_@/.])@(?:(?:symbol|mcp|checkpoint):(?:"[^"\n]{1,1000}"|[^\s"]{1,1000})|"[^"\n]{1,1000}"|[\p{L}\p{N}_.][\p{L}\p{N}_./-]{0,999})/gu;

/** The words in pieces, those that name something marked. */
export function mentionsIn(words: string): { text: string; mention: boolean }[] {
  const pieces: { text: string; mention: boolean }[] = [];
  let at = 0;
  for (const found of words.matchAll(MENTION)) {
    const text = found[0].endsWith('"') ? found[0] : found[0].replace(/[.,;:!?)\]}>-]+$/, "");
    if (text.length < 2) continue;
    pieces.push({ text: words.slice(at, found.index), mention: false }, { text, mention: true });
    at = found.index + text.length;
  }
  pieces.push({ text: words.slice(at), mention: false });
  return pieces.filter(({ text }) => text);
}
