import clsx from "clsx";
import { WrapText } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { t } from "../texts/messages";
import { IconButton } from "../ui/Button";
import { Copy } from "../ui/Copy";

const HIGHLIGHT_LIMIT = 20_000; // characters; beyond, colours cost more than they help

export function Code({ text, language }: { text: string; language: string | null }) {
  const coloured = useColours(text, language);
  const [wrapped, setWrapped] = useState(false);
  return (
    <div className="group relative my-3 overflow-hidden rounded-xl border border-line bg-sunken/60">
      <div className="flex h-8 items-center justify-between border-b border-line pr-0.5 pl-3.5 text-xs text-ink-3">
        <span className="font-mono">{language ?? t.text}</span>
        <span className="flex">
          {isLong(text) && (
            <IconButton
              label={t.wrapLines}
              aria-pressed={wrapped}
              onClick={() => setWrapped(!wrapped)}
              className={clsx("!size-8", wrapped && "bg-sunken text-ink")}
            >
              <WrapText size={15} aria-hidden />
            </IconButton>
          )}
          <Copy text={text} label={t.copyCode} className="!size-8" />
        </span>
      </div>
      <pre
        tabIndex={0}
        aria-label={t.code(language ?? t.text)}
        className={clsx(
          "overflow-x-auto px-3.5 py-3 font-mono text-[13px] leading-relaxed",
          wrapped && "[overflow-wrap:anywhere] whitespace-pre-wrap",
        )}
      >
        <code>{coloured ?? text}</code>
      </pre>
    </div>
  );
}

const LONG = 60; // characters of a line that a phone does not show at once

function isLong(text: string): boolean {
  return text.split("\n").some((line) => line.length > LONG);
}

function useColours(text: string, language: string | null): ReactNode {
  const [coloured, setColoured] = useState<{ of: string; node: ReactNode } | null>(null);
  useEffect(() => {
    if (!language || text.length > HIGHLIGHT_LIMIT) return;
    let here = true;
    void import("./highlight").then(
      ({ highlighted }) => here && setColoured({ of: text, node: highlighted(text, language) }),
    );
    return () => {
      here = false;
    };
  }, [text, language]);
  return coloured?.of === text ? coloured.node : null;
}
