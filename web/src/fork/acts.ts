// Forks over REST: tried, and made.
import type { Restored } from "../snapshots/acts";
import { api, given } from "../wire/client";
import type { Chat } from "../wire/nouns";

export type ForkFiles = "none" | "restore" | "copy";

interface NewFork {
  message_id: string;
  files: ForkFiles;
  overwrite?: string[];
  content?: string;
  model?: string;
}

const at = (chat_id: string) => ({ params: { path: { chat_id } } });

export async function forkChat(chatId: string, wish: NewFork): Promise<Chat> {
  return (await given(api.POST("/context/{chat_id}/fork", { ...at(chatId), body: wish as never }))) as Chat;
}

/** What restoring the files as they were at this message would do. */
export async function previewFork(chatId: string, messageId: string): Promise<Restored> {
  const body = { message_id: messageId, files: "restore", dry_run: true };
  return (await given(
    api.POST("/context/{chat_id}/fork", { ...at(chatId), body: body as never }),
  )) as unknown as Restored;
}
