import { useLayoutEffect, useRef, useState } from "react";
import { number } from "../texts/language";
import { t } from "../texts/messages";
import { TextWithPaths } from "./TextWithPaths";

const LINES = 200;
const CHARACTERS = 20_000;

interface Props {
  text: string;
  label?: string;
  /** Its end is what matters: why something failed stands there. */
  ending?: boolean;
}

/** Text of a tool, as it came: inert, and cut until asked for. What is stored is never cut. */
export function Output({ text, label = t.output, ending = false }: Props) {
  const [whole, setWhole] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const shown = whole ? text : ending ? cutStart(text) : cut(text);
  useLayoutEffect(() => {
    if (ending && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [ending, shown]);
  if (!text.trim()) return <p className="py-1 text-sm text-ink-3">{t.noOutput}</p>;
  return (
    <div className="my-1.5">
      <pre
        ref={box}
        tabIndex={0}
        aria-label={label}
        className="max-h-80 overflow-auto rounded-xl border border-line bg-sunken/60 px-3.5 py-2.5 font-mono text-[12.5px] leading-relaxed break-words whitespace-pre-wrap"
      >
        <TextWithPaths text={shown} kind="output" />
      </pre>
      {shown.length < text.length && (
        <button
          type="button"
          onClick={() => setWhole(true)}
          className="mt-1 text-sm text-ink-2 underline underline-offset-2 hover:text-ink"
        >
          {t.showAllKb(number(Math.ceil(text.length / 1000)))}
        </button>
      )}
    </div>
  );
}

/** As `cut`, from the other end, and at a line's beginning. */
export function cutStart(text: string): string {
  const end = text.slice(-CHARACTERS);
  const lines = end.split("\n");
  if (end.length < text.length && lines.length > 1) lines.shift(); // half a line
  return lines.slice(-LINES).join("\n");
}

export function cut(text: string): string {
  let end = Math.min(text.length, CHARACTERS);
  for (let line = 0, at = -1; line < LINES; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at >= end) return text.slice(0, end);
    if (line === LINES - 1) end = at;
  }
  return text.slice(0, end);
}
