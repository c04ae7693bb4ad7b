// The open chat, live: loads it, follows its events, and hands React one new view per frame however fast the events come.
import { create } from "zustand";
import { api, given, Refusal } from "../wire/client";
import { Link } from "../wire/link";
import type { Approval, DecidedCall, Message, WireEvent } from "../wire/nouns";
import type { StreamStatus } from "../wire/stream";
import type { PlanProgress } from "./planStandings";
import { type ChatView, opened, prepend, reduceAll, type Thinking, thinkingTimes } from "./reduce";
import { holdApprovedPlan } from "./standing";

const PAGE = 100;
const LONG_PAGE = 500;
// One page is read ahead once the newest can be seen. The list must be longer than what comes in front of it: else its place is lost.
const READ_AHEAD_MS = 300;
const ON_ITS_WAY_MS = 3_000;

interface Live {
  chatId: string | null;
  view: ChatView | null;
  problem: Refusal | null;
  status: StreamStatus;
  hasEarlier: boolean;
  loadingEarlier: boolean;
  thinking: Thinking;
  title: string;
  workspace: string;
  model: string | null;
  pinned: boolean;
  archived: boolean;
}

const NOTHING: Live = {
  chatId: null,
  view: null,
  problem: null,
  status: "connecting",
  hasEarlier: false,
  loadingEarlier: false,
  thinking: {},
  title: "",
  workspace: "",
  model: null,
  pinned: false,
  archived: false,
};

const NONE_WAIT: { approvals: Approval[]; decided: DecidedCall[] } = { approvals: [], decided: [] };

export const useLive = create<Live>(() => NOTHING);
export const link = new Link();

let leave: (() => void) | null = null;
let waiting: WireEvent[] = [];
let scheduled = false;

/** The chat that an address leads to. */
export function chatAt(hash: string): string | null {
  return /^#?\/chat\/([^/]+)/.exec(hash)?.[1] ?? null;
}

/** Opens this chat in place of the one before, if it is not open or opening already; null closes. */
export async function openChat(chatId: string | null): Promise<void> {
  const now = useLive.getState();
  if (chatId !== null && now.chatId === chatId && !now.problem) return;
  leave?.();
  leave = null;
  waiting = [];
  useLive.setState({ ...NOTHING, chatId });
  if (chatId === null) return;
  try {
    await load(chatId);
  } catch (error) {
    if (useLive.getState().chatId === chatId && error instanceof Refusal) useLive.setState({ problem: error });
  }
}

async function load(chatId: string): Promise<void> {
  const path = { params: { path: { chat_id: chatId } } };
  const [page, chat] = await Promise.all([
    given(api.GET("/context/{chat_id}/messages", { params: { ...path.params, query: { limit: PAGE } } })),
    given(api.GET("/context/{chat_id}", path)),
  ]);
  const { approvals, decided } =
    chat.waiting_for.approvals.length > 0 ? await given(api.GET("/context/{chat_id}/approvals", path)) : NONE_WAIT;
  const messages = page.messages as Message[];
  const plans = await progressOf(chatId, messages);
  if (useLive.getState().chatId !== chatId) return;
  const lastSeq = Math.min(page.last_seq, chat.last_seq); // events after the older of the two answers make up for what it missed
  useLive.setState({
    view: opened(chat, messages, approvals, lastSeq, decided, plans),
    hasEarlier: messages.length === PAGE,
    title: chat.title,
    workspace: chat.workspace,
    model: chat.config.model_id,
    pinned: chat.pinned,
    archived: chat.archived,
  });
  leave = link.follow(chatId, lastSeq, {
    onEvents: (events) => receive(events.map(({ event }) => event)),
    onStatus: (status) => useLive.setState({ status }),
  });
  setTimeout(() => useLive.getState().chatId === chatId && void loadEarlier(), READ_AHEAD_MS);
}

/** No message tells how far an approved plan is. */
async function progressOf(chatId: string, messages: readonly Message[]): Promise<readonly PlanProgress[]> {
  if (!holdApprovedPlan(messages)) return [];
  return (await given(api.GET("/context/{chat_id}/audit", { params: { path: { chat_id: chatId } } }))).plans;
}

/** Its title and its model once more: no event tells of them. A chat that is gone meanwhile is said to be. */
export async function readHead(): Promise<void> {
  const { chatId, view } = useLive.getState();
  if (!chatId || !view) return;
  try {
    const chat = await given(api.GET("/context/{chat_id}", { params: { path: { chat_id: chatId } } }));
    if (useLive.getState().chatId === chatId)
      useLive.setState({
        title: chat.title,
        model: chat.config.model_id,
        pinned: chat.pinned,
        archived: chat.archived,
      });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 404 && useLive.getState().chatId === chatId) useLive.setState({ problem: error });
  }
}

/** Reads back until this message is there. False if the chat does not have it; who left the chat meanwhile is told nothing. */
export async function seek(messageId: string): Promise<boolean> {
  const there = () => useLive.getState().view?.messages.some(({ id }) => id === messageId) ?? false;
  const first = () => useLive.getState().view?.messages[0]?.id;
  while (!there() && useLive.getState().hasEarlier) {
    const before = first();
    await loadEarlier(LONG_PAGE);
    if (first() === before) break; // the server does not answer, or the chat was left
  }
  return there() || (await arrives(there));
}

/** Waits a moment: the event of a message that was made just now may be on its way. */
function arrives(there: () => boolean): Promise<boolean> {
  const { chatId } = useLive.getState();
  return new Promise((settle) => {
    const end = (found: boolean) => {
      clearTimeout(limit);
      stop();
      settle(found);
    };
    const limit = setTimeout(() => end(false), ON_ITS_WAY_MS);
    const stop = useLive.subscribe((now) => (now.chatId !== chatId || there()) && end(true));
  });
}

let reading: Promise<void> | null = null;

/** One page of older messages; who asks while one is on its way waits for that. */
export function loadEarlier(limit = PAGE): Promise<void> {
  reading ??= readEarlier(limit).finally(() => (reading = null));
  return reading;
}

async function readEarlier(limit: number): Promise<void> {
  const { view, chatId, hasEarlier } = useLive.getState();
  const first = view?.messages[0];
  if (!chatId || !first || !hasEarlier) return;
  useLive.setState({ loadingEarlier: true });
  try {
    const asked = { params: { path: { chat_id: chatId }, query: { before: first.id, limit } } };
    const page = await given(api.GET("/context/{chat_id}/messages", asked));
    const messages = page.messages as Message[];
    const plans = await progressOf(chatId, messages);
    const now = useLive.getState();
    if (now.chatId !== chatId || !now.view) return;
    useLive.setState({
      view: prepend(now.view, messages, plans),
      hasEarlier: page.messages.length === limit,
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error; // the next scroll asks again
  } finally {
    useLive.setState({ loadingEarlier: false });
  }
}

function receive(events: WireEvent[]): void {
  waiting.push(...events);
  if (scheduled) return;
  scheduled = true;
  // A hidden tab gets no frames, but its title and its badges should still be true.
  if (document.hidden) setTimeout(flush, 200);
  else requestAnimationFrame(flush);
}

function flush(): void {
  scheduled = false;
  const events = waiting;
  waiting = [];
  useLive.setState((live) => {
    if (!live.view) return live;
    const view = reduceAll(live.view, events);
    return { view, thinking: { ...live.thinking, ...thinkingTimes(live.view, view) } };
  });
}
