// The list of chats: read over REST, kept true by the events of all chats.
import { type InfiniteData, type QueryClient, useInfiniteQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { api, given } from "../wire/client";
import { ALL } from "../wire/hub";
import { type Chat, type WireEvent, loose, text } from "../wire/nouns";
import { link } from "./live";
import { notify } from "./notices";

interface Page {
  contexts: Chat[];
  next: string | null;
}

export const CHATS = ["chats"];

export function useChats(words: string) {
  return useInfiniteQuery({
    queryKey: [...CHATS, words],
    queryFn: ({ pageParam }) =>
      given(api.GET("/context", { params: { query: { limit: 50, q: words || undefined, cursor: pageParam ?? undefined } as never } })) as Promise<Page>,
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
}

/** Follows the events of all chats for as long as the page lives. */
export function followAll(queries: QueryClient): () => void {
  return link.follow(ALL, null, {
    onEvents: (events) => events.forEach(({ event }) => heard(queries, event)),
    onStatus: (status) => {
      // What happened while the line was down is not replayed without a number: the list is read again.
      if (status === "live") void queries.invalidateQueries({ queryKey: CHATS });
      setConnection(status);
    },
  });
}

function heard(queries: QueryClient, event: WireEvent): void {
  let known = false;
  queries.setQueriesData<InfiniteData<Page>>({ queryKey: CHATS }, (list) => {
    if (!list) return list;
    return {
      ...list,
      pages: list.pages.map((page) => ({
        ...page,
        contexts: page.contexts.map((chat) => {
          if (chat.id !== event.chat_id) return chat;
          known = true;
          return updated(chat, event);
        }),
      })),
    };
  });
  if (!known || event.type === "turn-started") void queries.invalidateQueries({ queryKey: CHATS });
  notify(event);
}

/** A chat's line in the list after this event. Pure. */
export function updated(chat: Chat, event: WireEvent): Chat {
  switch (event.type) {
    case "turn-started":
    case "turn-ended":
    case "permission-request":
    case "question":
      return { ...chat, state: event.state, updated_at: event.at };
    case "question-answered":
      return { ...chat, state: chat.state === "awaiting_answer" ? "running" : chat.state };
    case "permission-decided":
      return chat.state === "awaiting_approval" && text(loose(event.approval)["state"]) === "allowed" ? { ...chat, state: "running" } : chat;
    case "role-changed":
      return { ...chat, config: { ...chat.config, agent_role: text(loose(event.role)["new_role"]) } };
    default:
      return chat;
  }
}

// --- how the line to the server is

type Connection = "connecting" | "live" | "reconnecting" | "unauthorized" | "gone";
let connection: Connection = "connecting";
const watchers = new Set<() => void>();

function setConnection(status: Connection): void {
  connection = status;
  watchers.forEach((watch) => watch());
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (watch) => {
      watchers.add(watch);
      return () => watchers.delete(watch);
    },
    () => connection,
  );
}
