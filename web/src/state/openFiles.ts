// Which part of the files stands beside the chat, and what is shown in it.
import { create } from "zustand";
import { useLive } from "../state/live";
import { useMay } from "../state/me";

export type Part = "files" | "changes" | "git";

interface Pane {
  open: boolean;
  part: Part;
  path: string | null;
  line: number | null;
}

export const useFilesPane = create<Pane>(() => ({ open: false, part: "files", path: null, line: null }));

export function openFiles(part: Part = "files"): void {
  useFilesPane.setState({ open: true, part });
}

export function openFile(path: string, line: number | null = null): void {
  useFilesPane.setState({ open: true, part: "files", path, line });
}

export function closeFile(): void {
  useFilesPane.setState({ path: null, line: null });
}

export function closeFiles(): void {
  useFilesPane.setState({ open: false });
}

/** The path from the workspace's root; null for what is no file of this chat: a pattern, an address, or nothing at all. */
export function pathInWorkspace(words: string, workspace: string): string | null {
  const inside = workspace && words.startsWith(`${workspace}/`) ? words.slice(workspace.length + 1) : words;
  const path = inside.replace(/^\.\//, "").replace(/^\/+/, "");
  if (!path || path === "." || /[*?\n]|^\w+:\/\//.test(path)) return null;
  return path;
}

/** Null where no chat is open, or for who may not read files: then a path leads nowhere. */
export function usePathInChat(words: string): string | null {
  const workspace = useLive(({ chatId, workspace: root }) => (chatId ? root : ""));
  const reads = useMay("GET /context/{chat_id}/file");
  return workspace && reads ? pathInWorkspace(words, workspace) : null;
}
