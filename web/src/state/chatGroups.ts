// Groups of the list of chats: by the day of the last change, or by the folder. Pure.
import { t } from "../texts/chats";
import type { Chat } from "../wire/nouns";

type Grouping = "date" | "workspace";

interface ChatGroup {
  title: string;
  chats: readonly Chat[];
}

const DAY = 24 * 60 * 60_000;

/** Groups in the order of their newest chat; chats keep their order. */
export function grouped(chats: readonly Chat[], by: Grouping, now: number): ChatGroup[] {
  const groups = new Map<string, Chat[]>();
  for (const chat of chats) {
    const title = by === "date" ? dayOf(chat.updated_at, now) : folderOf(chat.workspace);
    groups.set(title, [...(groups.get(title) ?? []), chat]);
  }
  return [...groups].map(([title, members]) => ({ title, chats: members }));
}

function dayOf(iso: string, now: number): string {
  const at = Date.parse(iso);
  const today = new Date(now).setHours(0, 0, 0, 0);
  if (!Number.isFinite(at) || at < today - 6 * DAY) return t.older;
  if (at >= today) return t.today;
  return at >= today - DAY ? t.yesterday : t.lastWeek;
}

/** The folder's own name; two folders of one name are told apart by the one above. */
function folderOf(workspace: string): string {
  return workspace.split("/").filter(Boolean).slice(-2).join("/") || workspace;
}
