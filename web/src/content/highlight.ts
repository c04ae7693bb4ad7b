// Syntax colours for twelve languages. Loaded when the first code is shown; gives elements, never HTML.

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
