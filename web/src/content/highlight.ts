// Syntax colours for twelve languages. Loaded when the first code is shown; gives elements, never HTML.

import type { RootContent } from "hast";
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const known = createLowlight({
  bash,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
});
known.registerAlias({
  diff: ["patch"],
  bash: ["sh", "shell", "zsh"],
  javascript: ["js", "jsx"],
  typescript: ["ts", "tsx"],
  python: ["py"],
  xml: ["html", "svg"],
  yaml: ["yml"],
});

export function highlighted(text: string, language: string): ReactNode {
  if (!known.registered(language)) return text;
  return toJsxRuntime(known.highlight(language, text), { Fragment, jsx, jsxs });
}

/** The same, line by line: what goes over several lines ends with each of them, and begins again. */
export function highlightedLines(text: string, language: string): ReactNode[] | null {
  if (!known.registered(language)) return null;
  return linesOf(known.highlight(language, text).children).map((children) =>
    toJsxRuntime({ type: "root", children }, { Fragment, jsx, jsxs }),
  );
}

function linesOf(nodes: readonly RootContent[]): RootContent[][] {
  const lines: RootContent[][] = [[]];
  for (const node of nodes)
    partsOf(node).forEach((part, at) => {
      if (at > 0) lines.push([]);
      lines.at(-1)!.push(...part);
    });
  return lines;
}

function partsOf(node: RootContent): RootContent[][] {
  if (node.type === "text")
    return node.value.split("\n").map((value) => (value ? [{ type: "text" as const, value }] : []));
  if (node.type !== "element") return [[node]];
  return linesOf(node.children).map((children) =>
    children.length > 0 ? [{ ...node, children: children as typeof node.children }] : [],
  );
}
