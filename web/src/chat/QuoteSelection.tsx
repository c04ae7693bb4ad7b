// Quotes what is selected in a message into the composer: a button beside the selection, or a key.
import { Quote } from "lucide-react";
import { useEffect, useState } from "react";
import { writeToComposer } from "../files/comment";
import { useLive } from "../state/live";
import { t } from "../texts/chat";
import { keysOf, shown, useHotkeys } from "../ui/hotkeys";

const MOST = 4_000; // characters: more is a file's work
const WIDTH = 96;
const HEIGHT = 40;

interface Place {
  words: string;
  top: number;
  left: number;
}

export function QuoteSelection() {
  const [place, setPlace] = useState<Place | null>(null);
  useEffect(() => {
    const look = () => setPlace(placeOf(document.getSelection()));
    document.addEventListener("selectionchange", look);
    window.addEventListener("scroll", look, true); // of the transcript, too
    window.addEventListener("resize", look);
    return () => {
      document.removeEventListener("selectionchange", look);
      window.removeEventListener("scroll", look, true);
      window.removeEventListener("resize", look);
    };
  }, []);
  const quote = () => {
    const words = place?.words || messageInFocus();
    if (!words) return;
    document.getSelection()?.removeAllRanges();
    writeToComposer(quoted(words));
  };
  useHotkeys({ quote });
  if (!place) return null;
  return (
    <button
      type="button"
      title={t.quoteKeys(shown(keysOf("quote")))}
      onPointerDown={(event) => event.preventDefault()} // pressing it must not end the selection
      onClick={quote}
      style={{ top: place.top, left: place.left }}
      className="rise fixed z-30 inline-flex min-h-9 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-3 text-sm shadow-md hover:bg-sunken thumb:min-h-11"
    >
      <Quote size={14} aria-hidden /> {t.quote}
    </button>
  );
}

/** The words as Markdown quotes them, and an empty line to write in. Pure. */
export function quoted(words: string): string {
  const whole = words.replaceAll("\r\n", "\n").trim();
  const cut = whole.length > MOST ? `${whole.slice(0, MOST)}…` : whole;
  const lines = cut.replaceAll(/\n{3,}/g, "\n\n").split("\n");
  return `${lines.map((line) => (line.trim() ? `> ${line}` : ">")).join("\n")}\n\n`;
}

/** Where the button stands; null if nothing of a message is selected. */
function placeOf(selection: Selection | null): Place | null {
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  const words = selection.toString();
  if (!words.trim() || !isInMessage(range.startContainer) || !isInMessage(range.endContainer)) return null;
  const box = range.getBoundingClientRect();
  const log = document.querySelector("[role='log']")?.getBoundingClientRect();
  if (!log || box.bottom < log.top || box.top > log.bottom) return null; // scrolled out of sight
  const below = Math.min(box.bottom + 6, log.bottom - HEIGHT);
  return { words, top: below, left: Math.max(log.left + 4, Math.min(box.left, log.right - WIDTH)) };
}

function isInMessage(node: Node): boolean {
  const element = node instanceof Element ? node : node.parentElement;
  return element?.closest("[role='log'] [id^='row-']") != null;
}

/** All of the message that has the focus: one need not be able to select with a mouse. */
function messageInFocus(): string {
  const row = document.activeElement?.closest("[role='log'] [id^='row-']")?.id.slice("row-".length);
  return useLive.getState().view?.messages.find(({ id }) => id === row)?.content ?? "";
}
