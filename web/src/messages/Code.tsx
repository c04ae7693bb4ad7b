import { type ReactNode, useEffect, useState } from "react";
import { t } from "../texts/messages";
import { Copy } from "../ui/Copy";

const HIGHLIGHT_LIMIT = 20_000; // characters; beyond, colours cost more than they help

export function Code({ text, language }: { text: string; language: string | null }) {
  const coloured = useColours(text, language);
  return (
    <div className="group relative my-3 overflow-hidden rounded-xl border border-line bg-sunken/60">
      <div className="flex h-8 items-center justify-between border-b border-line pr-0.5 pl-3.5 text-xs text-ink-3">
        <span className="font-mono">{language ?? t.text}</span>
        <Copy text={text} label={t.copyCode} className="!size-8" />
      </div>
      <pre
        tabIndex={0}
        aria-label={t.code(language ?? t.text)}
        className="overflow-x-auto px-3.5 py-3 font-mono text-[13px] leading-relaxed"
      >
        <code>{coloured ?? text}</code>
      </pre>
    </div>
  );
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
