// A call that is not made, from what a person types: a tool and one subject, or its parameters as JSON. Pure.
import { loose } from "../wire/nouns";

export const TOOLS = [
  "read_file",
  "list_directory",
  "grep",
  "search_code",
  "search_symbol",
  "get_file_info",
  "create_file",
  "update_file",
  "move_file",
  "delete_file",
  "execute_command",
] as const;

export function supposedParameters(tool: string, subject: string): Record<string, unknown> {
  const words = subject.trim();
  if (words.startsWith("{")) return asJson(words) ?? { path: words };
  switch (tool) {
    case "execute_command":
      return { command: words };
    case "move_file": {
      const [path = "", to = ""] = words.split(/\s*(?:→|->)\s*|\s+/);
      return { path, to };
    }
    case "create_file":
      return { path: words, content: "" };
    case "update_file": // a line, because replacing the whole file needs it to have been read
      return { path: words, start_line: 1, end_line: 1, content: "" };
    case "grep":
      return { pattern: ".", path: words };
    case "search_code":
      return { query: ".", path: words };
    case "search_symbol":
      return { name: "x", path: words };
    default:
      return { path: words };
  }
}

export function subjectHint(tool: string): string {
  if (tool === "execute_command") return "git status";
  if (tool === "move_file") return "notes/a.md → archive/a.md";
  return "notes/today.md";
}

function asJson(words: string): Record<string, unknown> | null {
  try {
    return loose(JSON.parse(words));
  } catch {
    return null;
  }
}
