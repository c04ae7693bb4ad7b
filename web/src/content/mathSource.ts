// Finds maths in a text. Models write it with $ and with TeX's own brackets; money ($5 to $10) is no maths. Pure.

// Code keeps its dollars. Then \(…\), \[…\], $$…$$, and $…$ as pandoc reads it: no blank inside the signs, no digit after them.
const PARTS =
  /(`+)[\s\S]*?\1|\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]|\$\$([\s\S]+?)\$\$|(?<![\\$\w])\$(?![\s$])([^$`\n]*?[^\s\\$`])\$(?![\d$])/g;

/** The text with every formula between two dollar signs, as remark-math reads it. */
export function markMaths(source: string): string {
  if (!source.includes("$") && !source.includes("\\(") && !source.includes("\\[")) return source;
  return source.replace(PARTS, (whole, _code, round, square, double, single) => {
    const inline = round ?? single;
    if (inline !== undefined) return `$$${inline.trim()}$$`;
    const block = square ?? (double?.includes("\n") ? double : undefined);
    return block === undefined ? whole : `\n$$\n${block.trim()}\n$$\n`;
  });
}
