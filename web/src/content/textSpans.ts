// A step of reading Markdown: every text that is neither code nor part of a link stands in an element of its own, so that it can be drawn.
import type { Element, ElementContent, Root, RootContent } from "hast";

const LEFT_ALONE = new Set(["a", "code", "pre"]);

export function markText() {
  return (tree: Root) => wrapTexts(tree);
}

function wrapTexts(node: Root | Element): void {
  const children = node.children as (RootContent & ElementContent)[];
  for (const [at, child] of children.entries()) {
    if (child.type === "text" && child.value.includes("/"))
      children[at] = { type: "element", tagName: "data", properties: {}, children: [child] };
    else if (child.type === "element" && !LEFT_ALONE.has(child.tagName)) wrapTexts(child);
  }
}
