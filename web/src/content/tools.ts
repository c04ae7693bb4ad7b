// How a call is shown to people: a sign, what it does, what it did, and the thing it is about. The server says what kind of tool it
// is: no tool is known here by name, and one of a kind that this page does not know keeps its own name.
import {
  Bot,
  FilePlus2,
  FileSearch,
  FolderOpen,
  FolderSearch,
  Globe,
  type LucideIcon,
  MoveRight,
  PencilLine,
  ScanSearch,
  SquareTerminal,
  Trash2,
  Wrench,
} from "lucide-react";
import { type ToolDisplay, useToolDisplay, useToolDisplays } from "../state/tools";
import { t } from "../texts/messages";
import { t as roles } from "../texts/roles";
import { text } from "../wire/nouns";

interface ToolLook {
  Icon: LucideIcon;
  does: string;
  did: string;
}

const ICONS: Record<string, LucideIcon> = {
  read: FileSearch,
  list: FolderOpen,
  search: FolderSearch,
  find: FolderSearch,
  inspect: ScanSearch,
  create: FilePlus2,
  change: PencilLine,
  move: MoveRight,
  delete: Trash2,
  run: SquareTerminal,
  fetch: Globe,
  search_web: Globe,
  ask: Bot,
};

type Parameters = Record<string, unknown>;

export function useToolLook(
  tool: string,
): ToolLook & { subjectOf: (parameters: Parameters) => string; pathOf: (parameters: Parameters) => string | null } {
  const display = useToolDisplay(tool);
  return {
    ...lookOfTool(tool, display),
    subjectOf: (parameters) => subjectOf(parameters, display),
    pathOf: (parameters) => pathOf(parameters, display),
  };
}

function lookOfTool(tool: string, { kind }: ToolDisplay): ToolLook {
  const verbs = t.kinds[kind];
  const name = toolName(tool);
  return { Icon: ICONS[kind] ?? Wrench, does: verbs?.does ?? name, did: verbs?.did ?? name };
}

/** A tool of an MCP server as people read it: its own name, and the server's in brackets. Pure. */
export function toolName(tool: string): string {
  const [server, name] = tool.split(/__(.*)/s, 2);
  return server && name && server !== "agent" ? `${name} (${server})` : tool;
}

/** What the call is about; of a tool that says nothing about it, the first parameter that is a text. */
export function subjectOf(parameters: Record<string, unknown>, { subject }: ToolDisplay): string {
  const named = subject.map((name) => text(parameters[name])).filter(Boolean);
  const words = named.length > 0 ? named.join(" → ") : (Object.values(parameters).map(text).find(Boolean) ?? "");
  return words === "." ? t.theWorkspace : words;
}

/** The permission that tools of a kind need. */
const PERMISSIONS: Record<string, string> = {
  read: "read_files",
  list: "read_files",
  search: "read_files",
  find: "read_files",
  inspect: "read_files",
  create: "create_files",
  change: "write_files",
  delete: "delete_files",
  run: "execute_commands",
};
const TOOL_NAME = /^\w{1,64}$/;

export interface PlannedUse {
  label: string;
  /** Whether it changes nothing and runs nothing. */
  onlyReads: boolean;
}

/** What each of these words of a plan lets a step do. A plan names permissions, in full or by their first word, and tools. */
export function usePlannedUses(words: readonly string[]): (word: string) => PlannedUse {
  const displays = useToolDisplays(words.filter((word) => TOOL_NAME.test(word) && !permissionNamed(word)));
  return (word) => plannedUse(word, displays[word]?.kind ?? "other");
}

/** Pure. */
function plannedUse(word: string, kind: string): PlannedUse {
  const permission = permissionNamed(word) ?? PERMISSIONS[kind];
  return {
    label: (permission ? roles.permissions[permission] : roles.otherUses[kind]) ?? toolName(word),
    onlyReads: permission ? permission === "read_files" : kind === "fetch" || kind === "search_web",
  };
}

/** The words of a plan that a person means by this label: of those that it had before, or a permission. Pure. */
export function wordsLabelled(
  label: string,
  before: readonly string[],
  purposeOf: (word: string) => PlannedUse,
): string[] {
  const isIt = (other: string | undefined) => other?.toLowerCase() === label.toLowerCase();
  const kept = before.filter((word) => isIt(purposeOf(word).label));
  if (kept.length > 0) return kept;
  return [Object.keys(roles.permissions).find((permission) => isIt(roles.permissions[permission])) ?? label];
}

function permissionNamed(word: string): string | undefined {
  return Object.values(PERMISSIONS).find((permission) => permission === word || permission.split("_")[0] === word);
}

const ABOUT_A_PATH = new Set(["read", "list", "inspect", "create", "change", "move", "delete"]);

/** The file that the call left: of a move, where it went. Null where it is about none. */
function pathOf(parameters: Parameters, { kind, subject }: ToolDisplay): string | null {
  if (!ABOUT_A_PATH.has(kind)) return null;
  return (
    subject
      .map((name) => text(parameters[name]))
      .filter(Boolean)
      .at(-1) ?? null
  );
}
