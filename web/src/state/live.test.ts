import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { approval, message } from "../testing/render";
import { api } from "../wire/client";
import { chatAt, link, openChat, seek, useLive } from "./live";

const CHAT = {
  id: "chat",
  title: "T",
  workspace: "/w",
  state: "idle",
  last_seq: 7,
  config: { agent_role: "actor", model_id: null },
  waiting_for: { approvals: [], question: null, questions: [] },
};
let follow: ReturnType<typeof vi.spyOn>;

beforeEach(() => {
  vi.useFakeTimers();
  follow = vi.spyOn(link, "follow").mockReturnValue(() => {});
});
afterEach(async () => {
  vi.useRealTimers();
  await openChat(null);
  vi.restoreAllMocks();
});

/** Answers by path; returns the paths as they were asked. */
function server(answers: Record<string, unknown>): string[] {
  const asked: string[] = [];
  vi.spyOn(api, "GET").mockImplementation(((path: string) => {
    asked.push(path);
    return Promise.resolve({ data: answers[path], response: new Response() });
  }) as never);
  return asked;
}

it("opens a chat with two requests at once, and follows from the older of the two answers", async () => {
  const asked = server({
    "/context/{chat_id}/messages": { messages: [message()], last_seq: 9, next: null },
    "/context/{chat_id}": CHAT,
  });
  const opening = openChat("chat");
  expect(asked).toEqual(["/context/{chat_id}/messages", "/context/{chat_id}"]); // neither waited for the other
  await opening;
  expect(asked).toHaveLength(2);
  expect(follow).toHaveBeenCalledWith("chat", 7, expect.anything());
  expect(useLive.getState().view).toMatchObject({ lastSeq: 7, messages: [{ id: "m1" }], approvals: [] });
});

it("asks what waits where something waits", async () => {
  const waiting = {
    ...CHAT,
    state: "awaiting_approval",
    waiting_for: { approvals: ["a1"], question: null, questions: [] },
  };
  const asked = server({
    "/context/{chat_id}/messages": { messages: [], last_seq: 7, next: null },
    "/context/{chat_id}": waiting,
    "/context/{chat_id}/approvals": { approvals: [approval()] },
  });
  await openChat("chat");
  expect(asked.at(-1)).toBe("/context/{chat_id}/approvals");
  expect(useLive.getState().view?.approvals).toMatchObject([{ id: "a1" }]);
});

it("does not open again what is open or opening", async () => {
  const asked = server({
    "/context/{chat_id}/messages": { messages: [], last_seq: 7, next: null },
    "/context/{chat_id}": CHAT,
  });
  await Promise.all([openChat("chat"), openChat("chat")]);
  await openChat("chat");
  expect(asked).toHaveLength(2);
});

it("reads the chat from an address", () => {
  expect(chatAt("#/chat/abc/m1")).toBe("abc");
  expect(chatAt("/chat/abc")).toBe("abc");
  expect(chatAt("#/settings/chat/abc")).toBeNull();
});

it("reads one page ahead, once the newest messages stand there", async () => {
  const messages = Array.from({ length: 100 }, (_, at) => message({ id: `m${at}` }));
  const asked = server({
    "/context/{chat_id}/messages": { messages, last_seq: 7, next: "m0" },
    "/context/{chat_id}": CHAT,
  });
  await openChat("chat");
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(300);
  expect(asked.slice(2)).toEqual(["/context/{chat_id}/messages"]);
});

it("waits for a message whose event is on its way before it says that there is none", async () => {
  server({
    "/context/{chat_id}/messages": { messages: [message()], last_seq: 7, next: null },
    "/context/{chat_id}": CHAT,
  });
  await openChat("chat");
  const sought = seek("m2");
  const view = useLive.getState().view!;
  useLive.setState({ view: { ...view, messages: [...view.messages, message({ id: "m2" })] } });
  expect(await sought).toBe(true);
  const missing = seek("nowhere");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await missing).toBe(false);
  const left = seek("elsewhere");
  await openChat(null);
  expect(await left).toBe(true);
});
