// What this browser remembers for its person: theme, notices, drafts. Never anything secret.
import { useSyncExternalStore } from "react";

type Name =
  | "theme"
  | "notifications"
  | "sound"
  | "welcomed"
  | "sidebar"
  | "later"
  | "keys"
  | "language"
  | "groups"
  | "diff" // split: differences are drawn side by side
  | "files_width" // of the pane beside the chat, in hundredths of the page
  | "terminal_height" // of the pane below the chat, the same
  | "folder" // of the last chat that was begun
  | "model"; // that was chosen last
const PREFIX = "anycowork.";
const watchers = new Set<() => void>();

export function preference(name: Name): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // storage may be closed to us; the page works without it
  }
}

export function setPreference(name: Name, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // as above
  }
  if (name === "theme") applyTheme();
  watchers.forEach((watch) => watch());
}

export function usePreference(name: Name): string | null {
  return useSyncExternalStore(
    (watch) => {
      watchers.add(watch);
      return () => watchers.delete(watch);
    },
    () => preference(name),
  );
}

/** What another tab set holds in this one too. */
export function followPreferences(): void {
  window.addEventListener("storage", () => {
    applyTheme();
    watchers.forEach((watch) => watch());
  });
}

export function applyTheme(): void {
  const chosen = preference("theme");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark);
}

// --- drafts: what was typed and not sent, per chat

export function draftOf(chatId: string): string {
  try {
    return localStorage.getItem(`${PREFIX}draft.${chatId}`) ?? "";
  } catch {
    return "";
  }
}

export function keepDraft(chatId: string, words: string): void {
  try {
    if (words) localStorage.setItem(`${PREFIX}draft.${chatId}`, words);
    else localStorage.removeItem(`${PREFIX}draft.${chatId}`);
  } catch {
    // as above
  }
}
