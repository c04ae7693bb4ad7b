import { visible } from "./visible";

/** One line of someone's words, with what stands in backticks as code. Everything else stays the text it is. */
export function Inline({ text }: { text: string }) {
  return visible(text)
    .split(/(`[^`\n]+`)/)
    .map((part, at) =>
      at % 2 === 1 ? (
        <code key={at} className="rounded-md bg-sunken px-1 py-px font-mono text-[0.88em] break-words">
          {part.slice(1, -1)}
        </code>
      ) : (
        part
      ),
    );
}
