import { useState } from "react";

const LINES = 200;
const CHARACTERS = 20_000;

/** Text of a tool, as it came: inert, and cut until asked for. What is stored is never cut. */
export function Output({ text, label = "Output" }: { text: string; label?: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : cut(text);
  if (!text.trim()) return <p className="py-1 text-sm text-ink-3">No output.</p>;
  return (
    <div className="my-1.5">
      <pre tabIndex={0} aria-label={label} className="max-h-80 overflow-auto rounded-xl border border-line bg-sunken/60 px-3.5 py-2.5 font-mono text-[12.5px] leading-relaxed break-words whitespace-pre-wrap">
        {shown}
      </pre>
      {shown.length < text.length && (
        <button type="button" onClick={() => setWhole(true)} className="mt-1 text-sm text-ink-2 underline underline-offset-2 hover:text-ink">
          Show all ({Math.ceil(text.length / 1000).toLocaleString()} kB)
        </button>
      )}
    </div>
  );
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
