// What may stand where one types: a list above the field. The keys stay in the field.

import clsx from "clsx";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { t } from "../texts/composer";

const LIST = "suggestions";

export interface Suggestion {
  key: string;
  label: string;
  about?: string;
  mark?: ReactNode;
  /** Enter or a click. False: the key is the field's, and sends what stands there. */
  choose: () => void;
  /** Tab: writes it and goes on; without it, as Enter. */
  complete?: () => void;
  /** What stands in the field is this already, and Enter sends it. */
  whole?: boolean;
}

export interface SuggestionKeys {
  at: number;
  /** True if the key was the list's and not the field's. */
  onKey: (event: KeyboardEvent) => boolean;
  /** For the field. */
  aria: { "aria-autocomplete"?: "list"; "aria-controls"?: string; "aria-activedescendant"?: string };
  shown: readonly Suggestion[];
}

/** `words` is what stands in the field: after Escape the list stays away until they change. */
export function useSuggestionKeys(found: readonly Suggestion[], words: string): SuggestionKeys {
  const [at, setAt] = useState(0);
  const [left, setLeft] = useState<string | null>(null);
  const shown = left === words ? [] : found;
  const place = Math.max(0, Math.min(at, shown.length - 1));
  const current = shown[place];
  const onKey = (event: KeyboardEvent): boolean => {
    if (!current) return false;
    switch (event.key) {
      case "ArrowDown":
        setAt((place + 1) % shown.length);
        return true;
      case "ArrowUp":
        setAt((place + shown.length - 1) % shown.length);
        return true;
      case "Enter":
        if (event.shiftKey || current.whole) return false;
        setAt(0);
        current.choose();
        return true;
      case "Tab":
        if (event.shiftKey) return false;
        setAt(0);
        (current.complete ?? current.choose)();
        return true;
      case "Escape":
        setLeft(words);
        return true;
      default:
        setAt(0);
        return false;
    }
  };
  const aria = current
    ? ({ "aria-autocomplete": "list", "aria-controls": LIST, "aria-activedescendant": `${LIST}-${place}` } as const)
    : {};
  return { at: place, onKey, aria, shown };
}

export function SuggestionList({ shown, at, label }: Pick<SuggestionKeys, "shown" | "at"> & { label: string }) {
  if (shown.length === 0) return null;
  return (
    <div className="rise mb-2 overflow-hidden rounded-2xl border border-line-strong bg-surface shadow-lg">
      <p role="status" className="sr-only">
        {t.suggestions(shown.length)}
      </p>
      <ul
        id={LIST}
        role="listbox"
        tabIndex={0}
        aria-label={label}
        className="max-h-[26vh] overflow-y-auto p-1.5 sm:max-h-[42vh]"
      >
        {shown.map((one, place) => (
          <li
            key={one.key}
            id={`${LIST}-${place}`}
            role="option"
            aria-selected={place === at}
            ref={place === at ? intoView : undefined}
            onMouseDown={(event) => event.preventDefault() /* the field keeps the focus */}
            onClick={one.choose}
            className={clsx(
              "flex min-h-9 thumb:min-h-11 cursor-pointer items-baseline gap-3 rounded-lg px-3 py-1.5 text-sm",
              place === at && "bg-sunken",
            )}
          >
            <code className="max-w-[70%] min-w-0 shrink-0 truncate font-mono text-[13px]">{one.label}</code>
            <span className="min-w-0 flex-1 truncate text-ink-2">{one.about}</span>
            {one.mark}
          </li>
        ))}
      </ul>
    </div>
  );
}

function intoView(item: HTMLElement | null): void {
  item?.scrollIntoView?.({ block: "nearest" });
}
