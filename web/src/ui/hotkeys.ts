// The page's keys in one table: what the shortcuts dialog shows is what works.

import { useLayoutEffect } from "react";
import { preference, setPreference } from "../browser/preferences";
import { type Me, mayDo, useMe } from "../state/me";
import { t } from "../texts/ui";
import { loose, text } from "../wire/nouns";
import type { Operation } from "../wire/scopes";

export interface Hotkey {
  keys: string;
  does: string;
  /** What it asks the server to do: for who may not do that, the keys do nothing. */
  needs?: Operation;
}

export const HOTKEYS = {
  palette: { keys: "Mod+K", does: t.openTheCommandPalette },
  newChat: { keys: "Alt+N", does: t.startANewChat, needs: "POST /context" },
  composer: { keys: "/", does: t.writeAMessage, needs: "POST /context/{chat_id}/messages" },
  stop: { keys: "Mod+.", does: t.stopTheAgent, needs: "POST /context/{chat_id}/stop" },
  continue: { keys: "Alt+C", does: t.continueATurnThatStopped, needs: "POST /context/{chat_id}/continue" },
  autonomy: { keys: "Alt+M", does: t.chooseHowMuchAsks, needs: "PATCH /context/{chat_id}" },
  approvals: { keys: "Alt+A", does: t.goToWhatWaitsFor, needs: "POST /context/{chat_id}/approvals" },
  waiting: { keys: "Alt+W", does: t.goToTheNextChat },
  role: { keys: "Alt+R", does: t.chooseARole, needs: "PUT /context/{chat_id}/role" },
  find: { keys: "Mod+F", does: t.findInThisChat },
  quote: { keys: "Alt+Q", does: t.quoteTheSelection, needs: "POST /context/{chat_id}/messages" },
  files: { keys: "Alt+F", does: t.showOrHideTheFiles, needs: "GET /context/{chat_id}/file" },
  terminal: { keys: "Alt+T", does: t.showOrHideTheTerminal, needs: "POST /context/{chat_id}/person-commands" },
  sidebar: { keys: "Mod+B", does: t.showOrHideTheChats },
  shortcuts: { keys: "?", does: t.showTheseShortcuts },
} as const satisfies Record<string, Hotkey>;

/** In a card that waits, once it has the focus: by its key, by Tab or by a click. */
export const DECISION_KEYS: readonly Hotkey[] = [
  { keys: "Y", does: t.allowOnce },
  { keys: "N", does: t.denyWithAWordTo },
  { keys: "Shift+Y", does: t.showAllThatWaitThen },
  { keys: "↑ ↓", does: t.moveBetweenApprovals },
];

export type Name = keyof typeof HOTKEYS;
export const NAMES = Object.keys(HOTKEYS) as Name[];
const LETTER = /^[\p{L}\p{N}]$/u; // typed alone it belongs to the message

/** The keys of this act, as this browser's person set them. */
export function keysOf(name: Name): string {
  const keys = text(chosen()[name]);
  return keys && !LETTER.test(keys) ? keys : HOTKEYS[name].keys;
}

/** What stands against these keys for this act; null if nothing. */
export function conflict(name: Name, keys: string): string | null {
  if (LETTER.test(keys)) return t.aLetterAloneIsTyped;
  const other = NAMES.find((one) => one !== name && keysOf(one) === keys);
  return other ? t.already(HOTKEYS[other].does) : null;
}

/** Null takes the act back to its own keys. */
export function setKeys(name: Name, keys: string | null): void {
  const { [name]: _, ...others } = chosen();
  setPreference("keys", JSON.stringify(keys && keys !== HOTKEYS[name].keys ? { ...others, [name]: keys } : others));
}

function chosen(): Record<string, unknown> {
  try {
    return loose(JSON.parse(preference("keys") ?? "{}"));
  } catch {
    return {};
  }
}

/** What was pressed, as the table writes it; null for a key that is only held, or that moves about. */
export function pressed({ key, code, ctrlKey, metaKey, altKey }: KeyboardEvent): string | null {
  const placed = altKey ? /^(?:Key|Digit)(\w)$/.exec(code)?.[1] : undefined; // with Alt some keyboards type another sign
  const named = placed ?? (key.length === 1 ? key.toUpperCase() : null);
  if (!named || named === " " || named === "+") return null;
  return [ctrlKey || metaKey ? "Mod" : "", altKey ? "Alt" : "", named].filter(Boolean).join("+");
}

/** The acts whose keys do something for this person. */
export function useHotkeyNames(): readonly Name[] {
  const me = useMe();
  return NAMES.filter((name) => mayPress(me, name));
}

function mayPress(me: Pick<Me, "may">, name: Name): boolean {
  const { needs }: Hotkey = HOTKEYS[name];
  return !needs || mayDo(me, needs);
}

export function useHotkeys(actions: Partial<Record<Name, () => void>>): void {
  const me = useMe();
  // Before the browser paints: a key pressed the moment something is seen is heard.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      for (const [name, act] of Object.entries(actions) as [Name, () => void][]) {
        if (!mayPress(me, name) || !matches(event, keysOf(name))) continue;
        event.preventDefault();
        return act();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
}

export function matches(event: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts.at(-1)!.toLowerCase();
  const mod = parts.includes("Mod");
  const alt = parts.includes("Alt");
  if (!mod && !alt && (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey)) return false;
  if (mod !== (event.ctrlKey || event.metaKey) || alt !== event.altKey) return false;
  // With Alt, some keyboards type another sign: the key's place tells.
  return event.key.toLowerCase() === key || (alt && event.code === `Key${key.toUpperCase()}`);
}

/** In a text field, while an input method composes, or behind an open dialog, plain keys belong to it. */
function isTyping(event: KeyboardEvent): boolean {
  return event.isComposing || document.querySelector("dialog[open]") !== null || takesText(event.target);
}

/** Whether a letter typed here does something here: it is written, or looks for a choice. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const inner = target.shadowRoot?.activeElement; // the page is told only the editor's frame
  if (inner) return takesText(inner);
  return (
    target.isContentEditable ||
    (target instanceof HTMLInputElement && !PRESSED.includes(target.type)) ||
    target.matches("textarea, select, [role='menu'], [role='menu'] *, [role='combobox'], [role='listbox'] *")
  );
}

const PRESSED: readonly string[] = [
  "checkbox",
  "radio",
  "button",
  "submit",
  "reset",
  "file",
  "range",
  "color",
  "image",
];

const IS_MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

export function shown(keys: string): string {
  return keys.replace("Mod", IS_MAC ? "⌘" : "Ctrl").replace("Alt", IS_MAC ? "⌥" : "Alt");
}
