// A formula as MathML elements. TeX is read by KaTeX, which is loaded with the first formula; what it cannot read stays as it was written.
import { createElement, Fragment, type ReactNode, useEffect, useState } from "react";

const LONGEST = 5_000; // characters; beyond, reading costs more than it tells

export function Formula({ tex, block }: { tex: string; block: boolean }) {
  const [drawn, setDrawn] = useState<{ of: string; node: ReactNode } | null>(null);
  useEffect(() => {
    if (tex.length > LONGEST) return;
    let here = true;
    void import("./katex").then(
      ({ mathMl }) => here && setDrawn({ of: tex, node: elementsOf(mathMl(tex, block)) }),
      () => {}, // what could not be loaded is shown as it was written
    );
    return () => {
      here = false;
    };
  }, [tex, block]);
  const shown = drawn?.of === tex && drawn.node !== null ? drawn.node : <code>{tex}</code>;
  return block ? <span className="my-3 block overflow-x-auto text-center">{shown}</span> : shown;
}

const MATH = /^(math|semantics|m[a-z]+)$/;
const KEPT = new Set([
  "display",
  "mathvariant",
  "stretchy",
  "fence",
  "separator",
  "accent",
  "columnalign",
  "rowspacing",
]);

/** Only elements of MathML, and only attributes that say how it looks: no link, no style, no script. */
function elementsOf(markup: string | null): ReactNode {
  if (markup === null) return null;
  const math = new DOMParser().parseFromString(markup, "text/html").querySelector("math");
  return math && copied(math, "math");
}

function copied(node: Node, key: string | number): ReactNode {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent;
  if (!(node instanceof Element)) return null;
  const name = node.localName;
  if (!MATH.test(name)) return null; // annotations repeat the source
  const children = [...node.childNodes].map(copied);
  if (name === "semantics") return createElement(Fragment, { key }, ...children);
  const kept = [...node.attributes].filter((attribute) => KEPT.has(attribute.name));
  return createElement(
    name,
    { key, ...Object.fromEntries(kept.map(({ name: of, value }) => [of, value])) },
    ...children,
  );
}
