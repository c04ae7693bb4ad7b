// How a tool is named to people: a sign, what it does, what it did, and the thing it is about. Unknown tools keep their own name.
import {
  FilePlus2,
  FileSearch,
  FolderOpen,
  FolderSearch,
  Info,
  type LucideIcon,
  MoveRight,
  PencilLine,
  SquareTerminal,
  Trash2,
  Wrench,
} from "lucide-react";
import { text } from "../wire/nouns";

interface ToolLook {
  Icon: LucideIcon;
  does: string;
  did: string;
}

const LOOKS: Record<string, ToolLook> = {
  read_file: { Icon: FileSearch, does: "Read", did: "Read" },
  list_directory: { Icon: FolderOpen, does: "List", did: "Listed" },
  grep: { Icon: FolderSearch, does: "Search for", did: "Searched for" },
  search_code: { Icon: FolderSearch, does: "Search for", did: "Searched for" },
  search_symbol: { Icon: FolderSearch, does: "Look up", did: "Looked up" },
  get_file_info: { Icon: Info, does: "Look at", did: "Looked at" },
  create_file: { Icon: FilePlus2, does: "Create", did: "Created" },
  update_file: { Icon: PencilLine, does: "Change", did: "Changed" },
  move_file: { Icon: MoveRight, does: "Move", did: "Moved" },
  delete_file: { Icon: Trash2, does: "Delete", did: "Deleted" },
  execute_command: { Icon: SquareTerminal, does: "Run", did: "Ran" },
};

export function lookOfTool(tool: string): ToolLook {
  return LOOKS[tool] ?? { Icon: Wrench, does: tool, did: tool };
}

export function subjectOf(parameters: Record<string, unknown>): string {
  const { path, to, command, pattern, query, name } = parameters;
  if (text(command)) return text(command);
  if (text(path) && text(to)) return `${text(path)} → ${text(to)}`;
  const subject = text(pattern) || text(query) || text(name) || text(path);
  return subject === "." ? "the workspace" : subject;
}
