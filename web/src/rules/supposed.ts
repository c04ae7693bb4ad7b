// A call that is not made, from what a person types: a tool and one subject, or its parameters as JSON. Pure.
import type { ToolDisplay } from "../state/tools";
import { loose, text } from "../wire/nouns";

/** The tool's example call, with what was typed in the place that rules match. */
export function supposedParameters({ target, example }: ToolDisplay, subject: string): Record<string, unknown> {
  const words = subject.trim();
  const [first = "path", ...others] = target;
  if (words.startsWith("{")) return asJson(words) ?? { [first]: words };
  if (others.length === 0) return { ...example, [first]: words };
  const parts = words.split(/\s*(?:→|->)\s*|\s+/);
  return { ...example, ...Object.fromEntries([first, ...others].map((name, at) => [name, parts[at] ?? ""])) };
}

/** What could be typed for this tool. */
export function subjectHint({ target, example }: ToolDisplay): string {
  return target.map((name) => text(example[name])).join(" → ") || "notes/today.md";
}

function asJson(words: string): Record<string, unknown> | null {
  try {
    return loose(JSON.parse(words));
  } catch {
    return null;
  }
}
