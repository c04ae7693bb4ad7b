// KaTeX, in a file of its own: it is large, and few texts hold a formula.
import katex from "katex";

/** MathML for this TeX; null if it cannot be read. */
export function mathMl(tex: string, block: boolean): string | null {
  try {
    return katex.renderToString(tex, {
      output: "mathml",
      displayMode: block,
      trust: false,
      maxExpand: 200,
      maxSize: 20,
    });
  } catch {
    return null;
  }
}
