// What a skill declares, as a person says it. The names are those that skills use everywhere. Pure.
import { visible } from "../content/visible";
import { t } from "../texts/skills";

/** One sentence's part for each tool that was declared; two that say the same are one. */
export function toolsInWords(tools: readonly string[]): readonly string[] {
  return [...new Set(tools.map(inWords))];
}

/** Tools that change no file; another name may stand for anything. */
const UNCHANGING = new Set(["Read", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "Task", "Agent"]);

/** Whether something was declared that changes files. */
export function changesFiles(tools: readonly string[]): boolean {
  return tools.some((tool) => !UNCHANGING.has(nameOf(tool)));
}

export function runsCommands(tools: readonly string[]): boolean {
  return tools.some((tool) => nameOf(tool) === "Bash");
}

function nameOf(tool: string): string {
  return tool.split("(", 1)[0]!;
}

function inWords(tool: string): string {
  const [, name = tool, narrowed = ""] = /^([^(]*)(?:\((.*)\))?$/s.exec(visible(tool)) ?? [];
  const host = narrowed.startsWith("domain:") ? narrowed.slice("domain:".length) : "";
  switch (name) {
    case "Read":
    case "Glob":
    case "Grep":
    case "LS":
      return t.tools.read;
    case "Bash":
      if (!narrowed || narrowed === "*") return t.tools.anyCommand;
      return narrowed.endsWith(":*") ? t.tools.commandsOf(narrowed.slice(0, -2)) : t.tools.command(narrowed);
    case "Write":
      return narrowed ? t.tools.writeIn(narrowed) : t.tools.write;
    case "Edit":
    case "MultiEdit":
      return narrowed ? t.tools.editIn(narrowed) : t.tools.edit;
    case "WebFetch":
      return host ? t.tools.pagesOf(host) : t.tools.pages;
    case "WebSearch":
      return t.tools.search;
    case "Task":
    case "Agent":
      return t.tools.agents;
    default:
      return t.tools.other(narrowed ? `${name}(${narrowed})` : name);
  }
}
