import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ALL, Hub, MOST, type News, TURN_MS, type Wish } from "./hub";
import { type Connect, Link } from "./link";
import type { Stream, StreamOptions } from "./stream";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

// --- more chats than connections

class Line {
  closed = false;
  constructor(readonly options: StreamOptions) {}
  get last() {
    return this.options.after;
  }
  live() {
    this.options.onStatus("live");
  }
  close() {
    this.closed = true;
  }
  nudge() {}
}

function crowd(chats: number) {
  const lines: Line[] = [];
  const hub = new Hub((options) => {
    const line = new Line(options);
    lines.push(line);
    options.onStatus("connecting");
    return line as unknown as Stream;
  });
  const heard = new Map<string, News[]>();
  const tells = new Map<string, (one: News) => void>();
  const follow = (topic: string, after: number | null) => {
    const news: News[] = [];
    const tell = (one: News) => void news.push(one);
    heard.set(topic, news);
    tells.set(topic, tell);
    hub.hear(tell, { do: "follow", topic, after, pageKey: null });
  };
  const leave = (topic: string) => hub.hear(tells.get(topic)!, { do: "leave", topic });
  follow(ALL, null);
  for (let at = 0; at < chats; at += 1) follow(`chat${at}`, 7);
  const open = () => lines.filter(({ closed }) => !closed);
  return { lines, heard, open, leave, names: () => open().map(({ options }) => options.url) };
}

it("takes no more connections than leave room for requests, however many chats are open, and gives each its turn", () => {
  const { open, names } = crowd(8);
  const heard = new Set<string>();
  for (let turn = 0; turn < 12; turn += 1) {
    expect(open()).toHaveLength(MOST);
    expect(names()).toContain("/events");
    open().forEach((line) => line.live());
    names().forEach((name) => heard.add(name));
    vi.advanceTimersByTime(TURN_MS);
  }
  expect(heard.size).toBe(9);
});

it("gives a chat that is opened its connection at once", () => {
  const { names } = crowd(8);
  expect(names()).toContain("/context/chat7/events");
});

it("takes no turn from a chat that has not been heard yet", () => {
  const { names } = crowd(MOST);
  const before = names();
  vi.advanceTimersByTime(5 * TURN_MS);
  expect(names()).toEqual(before);
});

it("comes back to a chat after its last event, and says nothing of the turns", () => {
  const { lines, heard, open } = crowd(MOST);
  open().forEach((line) => line.live());
  const first = open().find(({ options }) => options.url.includes("chat1"))!;
  first.options.onEvents([{ number: 9, event: {} as never }]);
  const said = heard.get("chat1")!.filter(({ is }) => is === "status").length;
  for (let turn = 0; turn < 3 * MOST; turn += 1) {
    vi.advanceTimersByTime(TURN_MS);
    open().forEach((line) => line.options.url.includes("chat1") || line.live());
  }
  const again = lines.filter(({ options }) => options.url.includes("chat1")).at(-1)!;
  expect(again).not.toBe(first);
  expect(again.options.after).toBe(9);
  expect(heard.get("chat1")!.filter(({ is }) => is === "status")).toHaveLength(said);
});

it("ends the turns once there is room for all", () => {
  const { leave, names } = crowd(MOST);
  expect(names()).not.toContain("/context/chat0/events");
  leave("chat1");
  vi.advanceTimersByTime(TURN_MS);
  expect(names().toSorted()).toEqual([
    "/context/chat0/events",
    "/context/chat2/events",
    "/context/chat3/events",
    "/events",
  ]);
  vi.advanceTimersByTime(TURN_MS);
  expect(vi.getTimerCount()).toBe(0);
});

// --- a tab's end

function far() {
  const wishes: Wish[] = [];
  const line: { tell: (news: News) => void; lost: () => void } = { tell: () => {}, lost: () => {} };
  const connect: Connect = (tell, lost) => {
    Object.assign(line, { tell, lost });
    return (wish) => wishes.push(wish);
  };
  const link = new Link(connect);
  const asked = () => wishes.map((wish) => ("topic" in wish ? `${wish.do} ${wish.topic}` : wish.do));
  return { link, line, wishes, asked };
}

const listener = () => ({ onEvents: vi.fn(), onStatus: vi.fn() });
const status = (topic: string): News => ({ is: "status", topic, status: "live" });

it("gives the chat's connection away while the tab is hidden, and catches up when it is seen", () => {
  const { link, line, wishes, asked } = far();
  link.follow(ALL, null, listener());
  link.follow("chat", 3, listener());
  line.tell({ is: "events", topic: "chat", events: [{ number: 5, event: {} as never }] });
  link.hide();
  expect(asked()).toEqual([`follow ${ALL}`, "follow chat", "leave chat"]);
  link.show();
  expect(asked().slice(3)).toEqual(["follow chat", "nudge"]);
  expect(wishes[3]).toMatchObject({ after: 5 });
});

it("asks for nothing of a chat that is opened in a hidden tab, until it is seen", () => {
  const { link, asked } = far();
  link.hide();
  link.follow("chat", 3, listener());
  expect(asked()).toEqual([]);
  link.show();
  expect(asked()).toEqual(["follow chat", "nudge"]);
});

it("follows all again in a page that the browser had kept", () => {
  const { link, line, asked } = far();
  link.follow(ALL, null, listener());
  line.tell(status(ALL));
  link.close();
  link.reopen();
  expect(asked()).toEqual([`follow ${ALL}`, "bye", `follow ${ALL}`]);
});

it.each(["fails", "is silent"])("follows by itself where the shared worker %s", async (how) => {
  const fetching = vi.fn(() => new Promise<Response>(() => {}));
  vi.stubGlobal("fetch", fetching);
  const { link, line } = far();
  const heard = listener();
  link.follow(ALL, null, heard);
  if (how === "fails") line.lost();
  else await vi.advanceTimersByTimeAsync(15_000);
  expect(fetching).toHaveBeenCalledWith("/events", expect.anything());
  expect(heard.onStatus).toHaveBeenCalledWith("connecting");
  line.tell({ is: "events", topic: ALL, events: [{ number: 5, event: {} as never }] });
  expect(heard.onEvents).not.toHaveBeenCalled(); // what comes late from a worker that was given up comes from the other one, too
  link.close();
});

it("keeps a worker that answers", async () => {
  const fetching = vi.fn();
  vi.stubGlobal("fetch", fetching);
  const { link, line } = far();
  link.follow(ALL, null, listener());
  line.tell(status(ALL));
  await vi.advanceTimersByTimeAsync(60_000);
  link.nudge();
  line.tell({ is: "here", topic: null });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fetching).not.toHaveBeenCalled();
});
