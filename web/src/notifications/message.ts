// What a pushed message becomes on the screen. Pure: the worker shows it.
import { pushed as de } from "../texts/de/pushed";
import { en } from "../texts/pushed";

interface PushedNotice {
  body: string;
  /** One notice for each chat: a later one takes the place of an earlier one. */
  tag: string;
  /** Where a tap leads. Only a chat of this page, whatever the message holds. */
  hash: string;
}

const CHAT = /^[\w-]{1,64}$/;

export function noticeOf(message: unknown, language: string | null): PushedNotice {
  const texts = language === "de" ? de : en;
  const { kind, count, chat_id } = (typeof message === "object" && message !== null ? message : {}) as Record<
    string,
    unknown
  >;
  const known = texts.waits[String(kind) as keyof typeof texts.waits];
  const chat = typeof chat_id === "string" && CHAT.test(chat_id) ? chat_id : null;
  return {
    body: typeof count === "number" && count > 1 ? texts.several(count) : (known ?? texts.other),
    tag: chat ?? "anycowork",
    hash: chat ? `#/chat/${chat}` : "#/",
  };
}
