// What a person decides about must look like what it is: characters that nobody sees, or that turn others round, are written out.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f]/gu;
const CROWD = /(\p{M}{3})\p{M}+/gu; // marks piled on one letter hide the lines around it

/** The text with every hidden character as its number; tabs and ends of lines stay. */
export function visible(text: string): string {
  return text
    .replace(HIDDEN, (char) => (char === "\n" || char === "\t" ? char : `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`))
    .replace(CROWD, "$1⟨…⟩");
}
