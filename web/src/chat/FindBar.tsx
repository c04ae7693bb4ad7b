// Finds words in the messages of the open chat: the browser's own search sees only the rows that are drawn.

import { ChevronDown, ChevronUp, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { t } from "../texts/chat";
import { Button, IconButton } from "../ui/Button";
import { useHotkeys } from "../ui/hotkeys";
import type { Message } from "../wire/nouns";

interface Props {
  chatId: string;
  messages: readonly Message[];
  /** Reads earlier messages; null where all are there. */
  onEarlier: (() => void) | null;
}

export function FindBar(props: Props) {
  const [open, setOpen] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useHotkeys({
    find: () => {
      setOpen(true);
      field.current?.select();
    },
  });
  return open ? <OpenBar {...props} field={field} onClose={() => setOpen(false)} /> : null;
}

interface BarProps extends Props {
  field: { current: HTMLInputElement | null };
  onClose: () => void;
}

function OpenBar({ chatId, messages, onEarlier, field, onClose }: BarProps) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => matching(messages, words), [messages, words]);
  const current = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    if (current) location.replace(`#/chat/${chatId}/${current}`);
  }, [chatId, current]);
  const move = (by: number) => setAt((now) => (found.length === 0 ? 0 : (now + by + found.length) % found.length));
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  return (
    <search className="mx-auto mt-2 flex w-[calc(100%-1.5rem)] max-w-2xl shrink-0 flex-wrap items-center gap-1 rounded-xl border border-line-strong bg-surface p-1.5 shadow-sm">
      <input
        ref={(node) => {
          field.current = node;
        }}
        autoFocus
        aria-label={t.findInThisChat}
        placeholder={t.findInThisChat}
        value={words}
        onChange={({ target }) => {
          setWords(target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        className="min-h-9 min-w-0 flex-1 basis-28 rounded-lg bg-transparent px-2.5 text-sm outline-none placeholder:text-ink-3"
      />
      <span role="status" className="px-1 text-xs text-ink-2 tabular-nums">
        {words.trim() && (found.length > 0 ? t.matchOf(Math.min(at, found.length - 1) + 1, found.length) : t.noMatch)}
      </span>
      <IconButton label={t.previousMatch} disabled={found.length < 2} onClick={() => move(-1)}>
        <ChevronUp size={16} aria-hidden />
      </IconButton>
      <IconButton label={t.nextMatch} disabled={found.length < 2} onClick={() => move(1)}>
        <ChevronDown size={16} aria-hidden />
      </IconButton>
      <IconButton label={t.closeFind} onClick={onClose}>
        <X size={16} aria-hidden />
      </IconButton>
      {onEarlier && words.trim() && (
        <Button look="quiet" className="w-full" onClick={onEarlier}>
          {t.findInOlderMessages}
        </Button>
      )}
    </search>
  );
}

/** The ids of the messages with these words, newest first. Pure. */
export function matching(messages: readonly Message[], words: string): string[] {
  const sought = words.trim().toLowerCase();
  if (!sought) return [];
  return messages
    .filter(({ content, payload }) => `${content} ${callText(payload)}`.toLowerCase().includes(sought))
    .map(({ id }) => id)
    .reverse();
}

/** What a call was given stands in its payload, not in its text. */
function callText(payload: Message["payload"]): string {
  return payload && "parameters" in payload ? JSON.stringify(payload["parameters"]) : "";
}
