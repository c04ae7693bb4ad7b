// What a slash at the start of a message may become. The list stands above the field; the keys stay in the field.

import clsx from "clsx";
import { type KeyboardEvent, useState } from "react";
import { type Ground, useWorkflows } from "../state/queries";
import { t } from "../texts/workflows";
import type { Workflow } from "../wire/nouns";
import { matching, nameTyped } from "./choosing";
import { keyOf, openWorkflows } from "./opening";

const MOST = 8;
const LIST = "workflow-completion";

interface Completing {
  found: readonly Workflow[];
  at: number;
  choose: (workflow: Workflow) => void;
  /** True if the key was the list's and not the field's. */
  onKey: (event: KeyboardEvent) => boolean;
  /** For the field. */
  aria: { "aria-autocomplete"?: "list"; "aria-controls"?: string; "aria-activedescendant"?: string };
}

/** `write` puts words into the field; `open` shows the form of the one that was chosen. */
export function useCompletion(
  ground: Ground,
  words: string,
  offered: boolean,
  write: (words: string) => void,
  open = openForm,
): Completing {
  const typed = offered ? nameTyped(words) : null;
  const { data } = useWorkflows(ground, typed !== null);
  const [at, setAt] = useState(0);
  const [left, setLeft] = useState<string | null>(null);
  const listed = typed !== null && left !== words;
  const found = listed ? matching(data?.workflows ?? [], typed).slice(0, MOST) : [];
  const place = Math.min(at, found.length - 1);
  const current = found[place];
  const choose = (workflow: Workflow) => {
    write("");
    setAt(0);
    open(workflow);
  };
  const onKey = (event: KeyboardEvent): boolean => {
    if (!current) return false;
    switch (event.key) {
      case "ArrowDown":
        setAt((place + 1) % found.length);
        return true;
      case "ArrowUp":
        setAt((place + found.length - 1) % found.length);
        return true;
      case "Enter":
        if (event.shiftKey || (current.name === typed && isComplete(current))) return false;
        choose(current);
        return true;
      case "Tab":
        if (event.shiftKey) return false;
        write(`/${current.name} `);
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
  return { found, at: place, choose, onKey, aria };
}

function openForm(workflow: Workflow): void {
  openWorkflows(keyOf(workflow));
}

/** Its name alone is an order: Enter sends it. */
function isComplete({ parameters, trusted }: Workflow): boolean {
  return trusted && parameters.every(({ required }) => !required);
}

export function Completion({ found, at, choose }: Pick<Completing, "found" | "at" | "choose">) {
  if (found.length === 0) return null;
  return (
    <div className="rise mb-2 overflow-hidden rounded-2xl border border-line-strong bg-surface shadow-lg">
      <p role="status" className="sr-only">
        {t.found(found.length)}
      </p>
      <ul id={LIST} role="listbox" aria-label={t.workflows} className="max-h-[42vh] overflow-y-auto p-1.5">
        {found.map((workflow, place) => (
          <li
            key={keyOf(workflow)}
            id={`${LIST}-${place}`}
            role="option"
            aria-selected={place === at}
            onMouseDown={(event) => event.preventDefault() /* the field keeps the focus */}
            onClick={() => choose(workflow)}
            className={clsx(
              "flex min-h-9 cursor-pointer items-baseline gap-3 rounded-lg px-3 py-1.5 text-sm",
              place === at && "bg-sunken",
            )}
          >
            <code className="shrink-0 font-mono text-[13px]">/{workflow.name}</code>
            <span className="min-w-0 flex-1 truncate text-ink-2">{workflow.description}</span>
            {!workflow.trusted && <span className="shrink-0 text-xs text-warn">{t.notTrusted}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
