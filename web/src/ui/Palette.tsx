// Everything by a few letters: chats, roles, places.

import clsx from "clsx";
import { CornerDownLeft } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useState } from "react";
import { t } from "../texts/ui";
import type { Operation } from "../wire/scopes";
import { Dialog, wantsFocus } from "./Dialog";

export interface Command {
  id: string;
  words: string;
  icon: ReactNode;
  note?: string;
  /** What it asks the server to do: who may not do that is not offered it. */
  needs?: Operation;
  run: () => void;
}

interface Props {
  open: boolean;
  commands: readonly Command[];
  /** What is looked for: whoever knows of more may add it. */
  onWords?: (words: string) => void;
  onClose: () => void;
}

export function Palette({ open, commands, onWords, onClose }: Props) {
  return (
    <Dialog title={t.commandPalette} open={open} onClose={onClose} wide bare>
      <Chooser
        commands={commands}
        onWords={onWords}
        onRun={(command) => {
          onClose();
          command.run();
        }}
      />
    </Dialog>
  );
}

function Chooser({
  commands,
  onWords,
  onRun,
}: Pick<Props, "commands" | "onWords"> & { onRun: (command: Command) => void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const found = matching(commands, words).slice(0, 50);
  useEffect(() => onWords?.(words), [words, onWords]);
  const current = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    if (current) document.getElementById(`palette-${current.id}`)?.scrollIntoView?.({ block: "nearest" });
  }, [current?.id]);
  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && current) onRun(current);
    else if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <div>
      <input
        ref={wantsFocus}
        role="combobox"
        aria-expanded
        aria-controls="palette-list"
        aria-activedescendant={current ? `palette-${current.id}` : undefined}
        aria-label={t.whatDoYouWantTo}
        placeholder={t.whatDoYouWantTo}
        value={words}
        onChange={({ target }) => {
          setWords(target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        className="w-full border-b border-line bg-transparent px-5 py-4 outline-none placeholder:text-ink-3"
      />
      <ul id="palette-list" role="listbox" aria-label={t.commands} className="p-2">
        {found.map((command) => (
          <li
            key={command.id}
            id={`palette-${command.id}`}
            role="option"
            aria-selected={command === current}
            onClick={() => onRun(command)}
            className={clsx(
              "flex min-h-10 thumb:min-h-11 cursor-pointer items-center gap-3 rounded-lg px-3 text-sm",
              command === current && "bg-sunken",
            )}
          >
            <span className="text-ink-3">{command.icon}</span>
            <span className="min-w-0 flex-1 truncate">{command.words}</span>
            {command.note && <span className="text-xs text-ink-3">{command.note}</span>}
            {command === current && <CornerDownLeft size={14} aria-hidden className="text-ink-3" />}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="px-5 pb-5 text-sm text-ink-3">{t.nothingFitsTheseWords}</p>}
    </div>
  );
}

/** Every word must occur; those that begin with the words stand first. */
export function matching(commands: readonly Command[], words: string): readonly Command[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return commands;
  const fits = commands.filter((command) => wanted.every((word) => command.words.toLowerCase().includes(word)));
  const rank = (command: Command) => (command.words.toLowerCase().startsWith(wanted[0]!) ? 0 : 1);
  return fits.toSorted((a, b) => rank(a) - rank(b));
}
