import clsx from "clsx";
import { useMemo, useState } from "react";
import { Copy } from "../ui/Copy";
import { type DiffLine, readDiff } from "./diffs";

const SHOWN = 200;

/** What changed in a file. Signs stand beside the colours. */
export function DiffView({ text, label = "Changes" }: { text: string; label?: string }) {
  const diff = useMemo(() => readDiff(text), [text]);
  const [whole, setWhole] = useState(false);
  const lines = diff.lines.filter(({ kind }) => kind !== "file");
  const shown = whole ? lines : lines.slice(0, SHOWN);
  return (
    <section aria-label={label} className="my-1.5 overflow-hidden rounded-xl border border-line bg-surface">
      <header className="flex h-8 items-center gap-3 border-b border-line pr-0.5 pl-3.5 text-xs text-ink-2">
        <span className="font-medium">{label}</span>
        <DiffCount added={diff.added} removed={diff.removed} />
        <Copy text={text} label="Copy diff" className="ml-auto !size-8" />
      </header>
      <div tabIndex={0} role="group" aria-label={`${label}, lines`} className="max-h-96 overflow-auto py-1 font-mono text-[12.5px] leading-[1.6]">
        <div className="w-max min-w-full">
          {shown.map((line, at) => (
            <Line key={at} line={line} />
          ))}
        </div>
        {shown.length < lines.length && (
          <button type="button" onClick={() => setWhole(true)} className="px-3.5 py-2 font-sans text-sm text-ink-2 underline underline-offset-2">
            Show all {lines.length} lines
          </button>
        )}
      </div>
    </section>
  );
}

export function DiffCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="font-mono tabular-nums" aria-label={`${added} lines added, ${removed} removed`}>
      <span className="text-good">+{added}</span> <span className="text-bad">−{removed}</span>
    </span>
  );
}

const SIGNS = { added: "+", removed: "−", same: " " } as const;

function Line({ line }: { line: DiffLine }) {
  if (line.kind === "hunk" || line.kind === "file") return <div className="px-3.5 py-0.5 text-ink-3">{line.text}</div>;
  return (
    <div className={clsx("flex whitespace-pre", line.kind === "added" && "bg-added", line.kind === "removed" && "bg-removed")}>
      <span aria-hidden className="w-10 shrink-0 pr-2 text-right text-ink-3 select-none">
        {line.after ?? line.before}
      </span>
      <span className="w-4 shrink-0 text-ink-3 select-none">{SIGNS[line.kind]}</span>
      <span className="pr-4">{line.text || " "}</span>
    </div>
  );
}
