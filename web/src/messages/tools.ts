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
import { t } from "../texts/messages";
import { text } from "../wire/nouns";

interface ToolLook {
  Icon: LucideIcon;
  does: string;
  did: string;
}

const LOOKS: Record<string, ToolLook> = {
  read_file: { Icon: FileSearch, does: t.read, did: t.read },
  list_directory: { Icon: FolderOpen, does: t.list, did: t.listed },
  grep: { Icon: FolderSearch, does: t.searchFor, did: t.searchedFor },
  search_code: { Icon: FolderSearch, does: t.searchFor, did: t.searchedFor },
  search_symbol: { Icon: FolderSearch, does: t.lookUp, did: t.lookedUp },
  get_file_info: { Icon: Info, does: t.lookAt, did: t.lookedAt },
  create_file: { Icon: FilePlus2, does: t.create, did: t.created },
  update_file: { Icon: PencilLine, does: t.change, did: t.changed },
  move_file: { Icon: MoveRight, does: t.move, did: t.moved },
  delete_file: { Icon: Trash2, does: t.deleteIt, did: t.deleted },
  execute_command: { Icon: SquareTerminal, does: t.run, did: t.ran },
};

export function lookOfTool(tool: string): ToolLook {
  return LOOKS[tool] ?? { Icon: Wrench, does: tool, did: tool };
}

export function subjectOf(parameters: Record<string, unknown>): string {
  const { path, to, command, pattern, query, name } = parameters;
  if (text(command)) return text(command);
  if (text(path) && text(to)) return `${text(path)} → ${text(to)}`;
  const subject = text(pattern) || text(query) || text(name) || text(path);
  return subject === "." ? t.theWorkspace : subject;
}
