// Which hunks a person has read and kept, remembered by this browser. A hunk that changes is another one.
import type { NetChange } from "./acts";
import type { Hunk } from "./hunks";

const MOST = 500;

export function isKept(chatId: string, change: NetChange, hunk: Hunk): boolean {
  return read(chatId).includes(nameOf(change, hunk));
}

export function setKept(chatId: string, change: NetChange, hunk: Hunk, kept: boolean): void {
  const name = nameOf(change, hunk);
  const others = read(chatId).filter((one) => one !== name);
  try {
    localStorage.setItem(keyOf(chatId), JSON.stringify(kept ? [...others, name].slice(-MOST) : others));
  } catch {
    // storage may be closed to us: then it is forgotten with the page
  }
}

function read(chatId: string): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(chatId)) ?? "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

const keyOf = (chatId: string) => `anycowork.kept.${chatId}`;

/** By what it says, not by where it stands: another hunk that is taken back leaves this one kept. */
function nameOf(change: NetChange, hunk: Hunk): string {
  const words = hunk.lines.map((line) => `${line.kind[0]}${line.text}`).join("\n");
  let sum = 0;
  for (let at = 0; at < words.length; at++) sum = (Math.imul(sum, 31) + words.charCodeAt(at)) | 0;
  return `${change.path}:${words.length}:${sum}`;
}
