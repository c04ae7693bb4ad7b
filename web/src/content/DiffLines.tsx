// The lines of one changed file, with syntax colours: one below the other, or old and new side by side where there is room for it.

import clsx from "clsx";
import { Columns2 } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { number } from "../texts/language";
import { t } from "../texts/messages";
import { IconButton } from "../ui/Button";
import { useTwoColumns } from "../ui/narrow";
import { type DiffLine, sideBySide } from "./diffs";
import { languageOf } from "./languages";
import { visible } from "./visible";

const SHOWN = 200; // lines of a file
const COLOURED = 40_000; // characters; beyond, colours cost more than they help

interface Props {
  lines: readonly DiffLine[];
  path: string;
  /** For who decides about it: every line drawn and wrapped. */
  whole?: boolean;
}

export function Lines({ lines, path, whole: wrapped = false }: Props) {
  const [whole, setWhole] = useState(false);
  const shown = useMemo(() => (whole || wrapped ? lines : lines.slice(0, SHOWN)), [lines, whole, wrapped]);
  const texts = useMemo(() => shown.map(({ text }) => visible(text)), [shown]);
  const colours = useColours(shown, texts, languageOf(path));
  const area = useRef<HTMLDivElement>(null);
  const chosen = isSplit(usePreference("diff"));
  const split = useTwoColumns(area) && chosen;
  const words = (at: number) => colours?.[at] ?? (texts[at] || " ");
  return (
    <div ref={area}>
      <div className={clsx("font-mono text-[12.5px] leading-[1.6]", !wrapped && !split && "w-max min-w-full")}>
        {split
          ? sideBySide(shown).map(([before, after], at) => (
              <Pair key={at} lines={shown} before={before} after={after} words={words} />
            ))
          : shown.map((line, at) => <Line key={at} line={line} words={words(at)} wrapped={wrapped} />)}
      </div>
      {shown.length < lines.length && (
        <More onClick={() => setWhole(true)}>{t.showAllLines(number(lines.length))}</More>
      )}
    </div>
  );
}

export function More({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" onClick={onClick} className="px-3.5 py-2 text-sm text-ink-2 underline underline-offset-2">
      {children}
    </button>
  );
}

/** Chooses for this browser how differences are drawn; only where its container has room for two columns. */
export function SplitToggle() {
  const chosen = isSplit(usePreference("diff"));
  return (
    <IconButton
      label={t.sideBySide}
      aria-pressed={chosen}
      onClick={() => setPreference("diff", chosen ? "unified" : "split")}
      className={clsx("!size-8 @max-[639px]:hidden", chosen && "bg-sunken text-ink")}
    >
      <Columns2 size={15} aria-hidden />
    </IconButton>
  );
}

function isSplit(preference: string | null): boolean {
  return preference === "split";
}

const SIGNS = { added: "+", removed: "−", same: " " } as const;

function Line({ line, words, wrapped }: { line: DiffLine; words: ReactNode; wrapped: boolean }) {
  if (line.kind === "note")
    return <div className="px-3.5 py-1 font-sans text-sm break-all whitespace-pre-wrap text-ink-2">{words}</div>;
  if (line.kind === "hunk") return <div className="px-3.5 py-0.5 text-ink-3">{words}</div>;
  return (
    <div
      className={clsx(
        "flex min-w-0",
        wrapped ? "wrap-anywhere whitespace-pre-wrap" : "whitespace-pre",
        line.kind === "added" && "bg-added",
        line.kind === "removed" && "bg-removed",
      )}
    >
      <span aria-hidden className="w-12 shrink-0 pr-2 text-right text-ink-3 select-none">
        {line.after ?? line.before}
      </span>
      <span className="w-4 shrink-0 text-ink-3 select-none">{SIGNS[line.kind]}</span>
      <span className="min-w-0 pr-4">{words}</span>
    </div>
  );
}

interface PairProps {
  lines: readonly DiffLine[];
  before: number | null;
  after: number | null;
  words: (at: number) => ReactNode;
}

function Pair({ lines, before, after, words }: PairProps) {
  const both = before !== null && before === after ? lines[before] : undefined;
  if (both && (both.kind === "hunk" || both.kind === "note"))
    return <Line line={both} words={words(before!)} wrapped />;
  return (
    <div className="grid grid-cols-2 divide-x divide-line">
      {[before, after].map((at, side) =>
        at === null ? (
          <div key={side} className="bg-sunken/60" />
        ) : (
          <Line key={side} line={numbered(lines[at]!, side)} words={words(at)} wrapped />
        ),
      )}
    </div>
  );
}

/** On the left an unchanged line has its old number. */
function numbered(line: DiffLine, side: number): DiffLine {
  return side === 0 && line.kind === "same" ? { ...line, after: line.before } : line;
}

/** A colouring for each line, by what stood before and after around it; null while there is none. */
function useColours(
  lines: readonly DiffLine[],
  texts: readonly string[],
  language: string | null,
): readonly (ReactNode | undefined)[] | null {
  const [coloured, setColoured] = useState<{ of: readonly string[]; nodes: (ReactNode | undefined)[] } | null>(null);
  useEffect(() => {
    if (!language || texts.reduce((sum, text) => sum + text.length, 0) > COLOURED) return;
    let here = true;
    void import("./highlight").then(({ highlightedLines }) => {
      if (!here) return;
      const nodes: (ReactNode | undefined)[] = [];
      for (const sides of [
        ["same", "removed"],
        ["same", "added"],
      ])
        for (const indexes of linesByHunk(lines, sides)) {
          const parts = highlightedLines(indexes.map((at) => texts[at]).join("\n"), language);
          indexes.forEach((at, line) => (nodes[at] = texts[at] ? parts?.[line] : undefined));
        }
      setColoured({ of: texts, nodes });
    });
    return () => {
      here = false;
    };
  }, [lines, texts, language]);
  return coloured?.of === texts ? coloured.nodes : null;
}

/** Indexes of the lines of these kinds, hunk by hunk: what one leaves open says nothing of the next. Pure. */
function linesByHunk(lines: readonly DiffLine[], kinds: readonly string[]): number[][] {
  const hunks: number[][] = [[]];
  lines.forEach(({ kind }, at) => {
    if (kind === "hunk") hunks.push([]);
    else if (kinds.includes(kind)) hunks.at(-1)!.push(at);
  });
  return hunks.filter((indexes) => indexes.length > 0);
}
