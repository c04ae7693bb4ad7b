// The list of chats: read over REST, kept true by the events of all chats.
import { type InfiniteData, type QueryClient, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { create } from "zustand";
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

/** The newest chats with these words in their titles, as the list and the events together say they are. */
export function useChats(words: string) {
  const heardOf = useHeard();
  const query = useInfiniteQuery({
    queryKey: [...CHATS, words],
    queryFn: ({ pageParam }) =>
      given(api.GET("/context", { params: { query: { limit: 50, q: words || undefined, cursor: pageParam ?? undefined } as never } })) as Promise<Page>,
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const chats = useMemo(() => (query.data?.pages ?? []).flatMap((page) => page.contexts).map((chat) => withHeard(chat, heardOf[chat.id] ?? [])), [query.data, heardOf]);
  return { ...query, chats };
}

/** What was heard of each chat. The list is read while events come: kept apart, neither overwrites the other. */
const useHeard = create<Readonly<Record<string, readonly WireEvent[]>>>(() => ({}));
const KEPT = 20;

export function withHeard(chat: Chat, events: readonly WireEvent[]): Chat {
  return events.filter(({ seq }) => seq > chat.last_seq).reduce(updated, chat);
}

/** Follows the events of all chats for as long as the page lives. */
export function followAll(queries: QueryClient): () => void {
  return link.follow(ALL, null, {
    onEvents: (events) => events.forEach(({ event }) => heard(queries, event)),
    onStatus: (status) => {
      // What happened while the line was down is not replayed without a number: the list is read again.
      if (status === "live") {
        void queries.invalidateQueries({ queryKey: CHATS });
        void queries.invalidateQueries({ predicate: (query) => query.state.status === "error" }); // what could not be read meanwhile
      }
      setConnection(status);
    },
  });
}

function heard(queries: QueryClient, event: WireEvent): void {
  const known = queries.getQueriesData<InfiniteData<Page>>({ queryKey: CHATS }).some(([, list]) => list?.pages.some((page) => page.contexts.some(({ id }) => id === event.chat_id)));
  useHeard.setState((all) => ({ ...all, [event.chat_id]: [...(all[event.chat_id] ?? []), event].slice(-KEPT) }));
  // A new chat, or one that just got its title from its first message.
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

/** Those that wait for a person, and the others; each in the order they came. Pure. */
export function waitingFirst(chats: readonly Chat[]): [waiting: Chat[], others: Chat[]] {
  return [chats.filter(waits), chats.filter((chat) => !waits(chat))];
}

export function waits({ state }: Chat): boolean {
  return state === "awaiting_approval" || state === "awaiting_answer";
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
