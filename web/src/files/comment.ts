// A comment to the agent: the place and the lines it is about stand in the composer, and the person writes the rest.
import { focusComposer } from "../composer/focusComposer";
import { closeFiles } from "../state/openFiles";
import { isNarrow } from "../ui/narrow";

const MOST = 12; // lines that are quoted

export function commentWords(path: string, lines: readonly [number, number] | null, quoted: readonly string[]): string {
  const place = lines ? `${path}:${lines[0] === lines[1] ? lines[0] : `${lines[0]}-${lines[1]}`}` : path;
  const shown = quoted.slice(0, MOST);
  const more = quoted.length > MOST ? ["…"] : [];
  const block = shown.length > 0 ? `\n\`\`\`\n${[...shown, ...more].join("\n")}\n\`\`\`` : "";
  return `\`${place}\`${block}\n`;
}

/** Typed into the field as a person would, after what stands there. */
export function writeToComposer(words: string): void {
  const field = document.getElementById("composer");
  if (!(field instanceof HTMLTextAreaElement)) return;
  const before = field.value ? `${field.value.replace(/\n?$/, "\n")}` : "";
  const set = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")?.set;
  set?.call(field, before + words);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  if (isNarrow()) closeFiles();
  focusComposer();
  field.setSelectionRange(field.value.length, field.value.length);
}
