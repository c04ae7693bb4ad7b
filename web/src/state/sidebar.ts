// The list of chats: read over REST, kept true by the events of all chats.
import {
  type InfiniteData,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { create } from "zustand";
import { api, given } from "../wire/client";
import { ALL } from "../wire/hub";
import { type Chat, type EndReason, loose, text, type WireEvent } from "../wire/nouns";
import { link, readHead } from "./live";
import { knownWording, readMe } from "./me";
import { notify } from "./notices";

interface Page {
  contexts: Chat[];
  next: string | null;
}

export const CHATS = ["chats"];
const LISTED = [...CHATS, "listed"];
const AT_MOST = 500;

/** The newest chats with these words in their titles, and apart from them all that wait for a person, however old, and those
 * that are pinned: as lists and events together say. Archived chats are shown apart, and found by words. */
export function useChats(words: string, archived = false) {
  const heardOf = useHeard();
  const stalled = useQuery({
    queryKey: [...CHATS, "waiting", words],
    queryFn: () =>
      given(
        api.GET("/context", {
          params: { query: { limit: AT_MOST, q: words || null, state: ["awaiting_approval", "awaiting_answer"] } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const fastened = useQuery({
    queryKey: [...CHATS, "pinned", words],
    queryFn: () =>
      given(api.GET("/context", { params: { query: { limit: AT_MOST, q: words || null, pinned: true } } })),
    placeholderData: keepPreviousData,
  });
  const query = useInfiniteQuery({
    queryKey: [...LISTED, words, archived],
    queryFn: ({ pageParam }): Promise<Page> => {
      const kept = archived || !words ? archived : null;
      const asked = { limit: 50, q: words || null, cursor: pageParam, archived: kept };
      return given(api.GET("/context", { params: { query: asked } }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const [waiting, pinned, others] = useMemo(() => {
    const now = (chat: Chat) => withHeard(chat, heardOf[chat.id] ?? []);
    const listed = (query.data?.pages ?? []).flatMap((page) => page.contexts);
    const [first, rest] = waitingFirst(listed, archived ? [] : (stalled.data?.contexts ?? []), now);
    const apart = new Set(first.map(({ id }) => id));
    const kept = archived
      ? []
      : (fastened.data?.contexts ?? []).map(now).filter(({ id, archived: away }) => !away && !apart.has(id));
    const shown = new Set(kept.map(({ id }) => id));
    return [first, kept, rest.filter(({ id }) => !shown.has(id))];
  }, [query.data, stalled.data, fastened.data, heardOf, archived]);
  return { ...query, waiting, pinned, others };
}

/** Chats with these words in their titles, however old: for who types a few letters of one. */
export function useSought(words: string): readonly Chat[] {
  const { data } = useQuery({
    queryKey: [...CHATS, "sought", words],
    queryFn: () => given(api.GET("/context", { params: { query: { limit: 20, q: words } } })),
    enabled: words.length > 1,
    placeholderData: keepPreviousData,
  });
  return data?.contexts ?? NONE;
}

const NONE: readonly Chat[] = [];

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
        if (connection === "reconnecting") readMe(queries); // a change of access ends the line
        readAgain(queries);
        void queries.invalidateQueries({ predicate: (query) => query.state.status === "error" }); // what could not be read meanwhile
      }
      setConnection(status);
    },
    onHint: () => hinted(queries),
  });
}

/** What no event tells of: which chats there are, their titles, and the model of the open one. */
export function readAgain(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: CHATS });
  void readHead();
}

const BREATH_MS = 250;
let due = false;

/** Ten chats that are made in one go are read once. */
function hinted(queries: QueryClient): void {
  if (due) return;
  due = true;
  setTimeout(() => {
    due = false;
    readAgain(queries);
  }, BREATH_MS);
}

const READ_AGAIN: ReadonlySet<string> = new Set(["turn-started", "permission-decided", "job-updated", "job-completed"]);

function heard(queries: QueryClient, event: WireEvent): void {
  const known = queries
    .getQueriesData<InfiniteData<Page>>({ queryKey: LISTED })
    .some(([, list]) => list?.pages.some((page) => page.contexts.some(({ id }) => id === event.chat_id)));
  useHeard.setState((all) => ({ ...all, [event.chat_id]: [...(all[event.chat_id] ?? []), event].slice(-KEPT) }));
  // A new chat, or one that just got its title from its first message.
  // A decision: whether other calls of the same reply still wait is in the record, not in the event.
  // A job: the list of those that wait is read with the list of chats.
  if (!known || READ_AGAIN.has(event.type)) hinted(queries);
  notify(event, knownWording(queries));
}

/** A chat's line in the list after this event. Pure. */
function updated(chat: Chat, event: WireEvent): Chat {
  switch (event.type) {
    case "turn-started":
      return { ...chat, state: event.state, waiting: waitingIn(event.state), updated_at: event.at };
    case "turn-ended":
      return {
        ...chat,
        state: event.state,
        waiting: event.task_id ? waitingIn(event.state) : leftBy(event.reason),
        updated_at: event.at,
      };
    case "permission-request":
      return { ...chat, state: event.state, waiting: "approval", updated_at: event.at };
    case "question":
      return { ...chat, state: event.state, waiting: "question", updated_at: event.at };
    case "question-answered":
      return chat.state === "awaiting_answer" ? { ...chat, state: "running", waiting: null } : chat;
    case "tool-result": // a decided call runs once no other call of its reply waits
      return chat.state === "awaiting_approval" ? { ...chat, state: "running", waiting: null } : chat;
    case "role-changed":
      return {
        ...chat,
        waiting: chat.waiting === "continue" ? null : chat.waiting,
        config: { ...chat.config, agent_role: text(loose(event.role)["new_role"]) },
      };
    default:
      return chat;
  }
}

/** Those that wait for a person, whichever list knew of them, and the others of the first; each as `now` says it is. Pure. */
export function waitingFirst(
  listed: readonly Chat[],
  stalled: readonly Chat[],
  now: (chat: Chat) => Chat,
): [waiting: Chat[], others: Chat[]] {
  const here = new Set(listed.map(({ id }) => id));
  const chats = listed.map(now);
  const older = stalled.filter(({ id }) => !here.has(id)).map(now);
  return [[...chats, ...older].filter(waits), chats.filter((chat) => !waits(chat))];
}

function waits({ waiting, state }: Chat): boolean {
  return Boolean(waiting) || state.startsWith("awaiting");
}

/** What a chat in this state waits for: while a task begins or ends, others may wait for a person. */
function waitingIn(state: Chat["state"]): Chat["waiting"] {
  if (state === "awaiting_approval") return "approval";
  return state === "awaiting_answer" ? "question" : null;
}

/** What an ended turn leaves for the person to do. */
function leftBy(reason: EndReason): Chat["waiting"] {
  if (reason === "planned") return "plan";
  return reason === "limit" || reason === "interrupted" || reason === "blocked" ? "continue" : null;
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
