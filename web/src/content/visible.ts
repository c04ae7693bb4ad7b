// What a person decides about must look like what it is: characters that nobody sees, or that turn others round, are written out.

declare const seen: unique symbol;
/** Text in which every character can be seen: made by `visible`, or by the server in a disclosure. What shows a grant takes nothing else. */
export type VisibleText = string & { readonly [seen]: true };

const HIDDEN =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single characters are meant, whatever they would join to
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const CROWD = /(\p{M}{3})\p{M}+/gu; // marks piled on one letter hide the lines around it
const PLAIN = new Set([" ", "\n", "\t"]);

/** The text with every hidden character as its number; blanks, tabs and ends of lines stay. */
export function visible(text: string): VisibleText {
  return text
    .replace(HIDDEN, (char) =>
      PLAIN.has(char) ? char : `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
    )
    .replace(CROWD, "$1⟨…⟩") as VisibleText;
}
