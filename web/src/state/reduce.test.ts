import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approval, event, message } from "../testing/render";
import type { OpenChat, WireEvent } from "../wire/nouns";
import { type ChatView, continuable, opened, prepend, reduceAll, thinkingTimes } from "./reduce";
import { callStanding, questionStanding } from "./standing";

const CHAT = {
  id: "chat",
  state: "idle",
  config: { agent_role: "planner" },
  waiting_for: { approvals: [], question: null, questions: [] },
} as unknown as OpenChat;
const start = (): ChatView => opened(CHAT, [], [], 0);
const after = (...events: WireEvent[]): ChatView => reduceAll(start(), events);

describe("a chat's view", () => {
  it("is running from the turn's start to its end", () => {
    expect(after(event("turn-started", 1)).state).toBe("running");
    expect(after(event("turn-started", 1), event("turn-ended", 2)).state).toBe("idle");
  });

  it("ignores events that it has seen and events of other chats", () => {
    const view = after(event("turn-started", 5));
    expect(reduceAll(view, [event("turn-ended", 5)])).toBe(view);
    expect(reduceAll(view, [event("turn-ended", 6, { chat_id: "other" })])).toBe(view);
  });

  it("waits for approval, and goes on when nothing is left to decide", () => {
    const asked = after(
      event("permission-request", 1, { approval: approval({ id: "a" }) }),
      event("permission-request", 2, { approval: approval({ id: "b" }) }),
    );
    expect(asked).toMatchObject({ state: "awaiting_approval", approvals: [{ id: "a" }, { id: "b" }] });
    const one = reduceAll(asked, [event("permission-decided", 3, { approval: { id: "a", state: "allowed" } })]);
    expect(one).toMatchObject({ state: "awaiting_approval", approvals: [{ id: "b" }] });
    expect(reduceAll(one, [event("permission-decided", 4, { approval: { id: "b" } })])).toMatchObject({
      state: "running",
      approvals: [],
    });
  });

  it("keeps what tasks of a job ask while others begin and end", () => {
    const of = (task_id: string) => ({ job_id: "j", task_id, turn_id: `turn-${task_id}` });
    const question = (id: string, seq: number) => [
      event("message", seq, { message: message({ id, message_type: "question", ...of(id) }) }),
      event("question", seq + 1, { question: { message_id: id }, state: "awaiting_answer", ...of(id) }),
    ];
    const asked = after(
      event("permission-request", 1, { approval: approval({ id: "p", ...of("a") }), ...of("a") }),
      ...question("b", 2),
      ...question("c", 4),
      event("turn-started", 6, { state: "awaiting_approval", ...of("d") }),
      event("turn-ended", 7, { state: "awaiting_approval", reason: "answered", ...of("d") }),
    );
    expect(asked).toMatchObject({ state: "awaiting_approval", approvals: [{ id: "p" }], questions: ["b", "c"] });
    const decided = reduceAll(asked, [event("permission-decided", 8, { approval: { id: "p" } })]);
    expect(decided).toMatchObject({ state: "awaiting_answer", approvals: [] });
    const one = reduceAll(decided, [event("question-answered", 9, { question: { message_id: "b" }, ...of("b") })]);
    expect(one).toMatchObject({ state: "awaiting_answer", questions: ["c"] });
    expect(questionStanding(one, "c").state).toBe("open");
    const over = reduceAll(one, [event("turn-ended", 10, { state: "running", reason: "stopped", ...of("c") })]);
    expect(over).toMatchObject({ state: "running", questions: [] });
    expect(reduceAll(over, [event("job-updated", 11, { job: {} })]).state).toBe("running");
    expect(reduceAll(over, [event("job-updated", 11, { job: {}, state: "idle" })]).state).toBe("idle");
  });

  it("knows which call of a batch was denied while the others wait", () => {
    const asked = (id: string) => ({ approval: { id, tool_call_id: `c-${id}` } });
    const view = after(
      event("permission-request", 1, asked("a")),
      event("permission-request", 2, asked("b")),
      event("permission-decided", 3, { call_id: "c-a", approval: { id: "a", state: "denied", decided_by: "Bob" } }),
    );
    expect(view.state).toBe("awaiting_approval");
    expect(view.decided["c-a"]).toEqual({ state: "denied", by: "Bob" });
    expect(callStanding(view, new Set(["c-b"]), "c-a")).toBe("denied");
    expect(callStanding(view, new Set(["c-b"]), "c-b")).toBe("waiting");
  });

  it("knows after a reload what was decided of a batch that still waits", () => {
    const waiting = { ...CHAT, state: "awaiting_approval" as const };
    const view = opened(waiting, [], [], 5, [
      { tool_call_id: "c-a", state: "denied" },
      { tool_call_id: "c-b", state: "allowed" },
    ]);
    expect(["c-a", "c-b", "c-c"].map((id) => callStanding(view, new Set(["c-c"]), id))).toEqual([
      "denied",
      "allowed",
      "waiting",
    ]);
  });

  it("knows after a reload since when the agent works: since the turn's first message, or since it was continued", () => {
    const running = { ...CHAT, state: "running" as const };
    const at = (minute: number) => `2026-01-02T03:0${minute}:00.000000Z`;
    const said = (id: string, minute: number, parts: object = {}) => message({ id, created_at: at(minute), ...parts });
    const earlier = said("m0", 1, { turn_id: "t0" });
    const asked = said("m1", 2, { role: "user" });
    const steered = said("m2", 3, { role: "user" });
    const worker = said("m3", 4, { turn_id: "t9", task_id: "1" });
    const view = opened(running, [earlier, asked, steered, worker], [], 5);
    expect(view.turn).toEqual({ id: "t1", startedAt: at(2) });
    expect(opened(CHAT, [earlier, asked], [], 5).turn).toBeNull();
    const note = said("m4", 5, { role: "system", payload: { continued: "limit" } });
    expect(opened(running, [asked, note, said("m5", 6)], [], 5).turn?.startedAt).toBe(at(5));
    const page = opened(running, [steered], [], 5); // the turn is longer than the page that was read
    expect(prepend(page, [earlier, asked]).turn?.startedAt).toBe(at(2));
    expect(prepend(view, [said("m-1", 0, { turn_id: "t-1" })]).turn).toEqual(view.turn);
  });

  it("takes a new plan for the open one and the older for superseded", () => {
    const view = after(
      event("plan-update", 1, { plan: { message_id: "p1", state: "open" } }),
      event("plan-update", 2, { plan: { message_id: "p2", state: "open" } }),
    );
    expect(view.plans).toMatchObject({ p1: { state: "superseded" }, p2: { state: "open" } });
  });

  it("follows the status of a plan and of its steps, and keeps the approved text", () => {
    const view = after(
      event("plan-update", 1, {
        plan: {
          message_id: "p1",
          status: "approved",
          state: "approved",
          goal: "g",
          steps: [{ id: "1", action: "a", status: "open" }],
        },
      }),
      event("plan-update", 2, {
        plan: { message_id: "p1", status: "blocked", steps: [{ id: "1", status: "failed" }] },
      }),
    );
    expect(view.plans["p1"]).toMatchObject({ state: "blocked", approved: { goal: "g" }, steps: { "1": "failed" } });
  });

  it("puts text together by code points, whatever comes twice or overlaps", () => {
    const deltas = [
      event("text-delta", 1, { message_id: "m", offset: 0, text: "a😀" }),
      event("text-delta", 2, { message_id: "m", offset: 2, text: "b" }),
      event("text-delta", 3, { message_id: "m", offset: 0, text: "a😀" }),
      event("text-delta", 4, { message_id: "m", offset: 1, text: "😀bc" }),
    ];
    expect(after(...deltas).drafts[0]?.text).toEqual({ text: "a😀bc", length: 4 });
  });

  it("keeps what a call prints apart from words, until its result has come", () => {
    const printed = [
      event("text-delta", 1, { message_id: "r", call_id: "c", offset: 0, text: "one\n" }),
      event("text-delta", 2, { message_id: "r", call_id: "c", offset: 4, text: "two\n" }),
    ];
    expect(after(...printed)).toMatchObject({ drafts: [], printed: { c: { text: "one\ntwo\n" } } });
    expect(after(...printed, event("tool-result", 3, { call_id: "c" })).printed).toEqual({});
    expect(after(...printed, event("turn-ended", 3, { reason: "stopped" })).printed).toEqual({});
  });

  it("fills what a late or broken stream missed of an output with what comes again from its start", () => {
    const own = (seq: number, offset: number, text: string) =>
      event("text-delta", seq, { message_id: "r", call_id: "c", turn_id: null, offset, text });
    expect(after(own(1, 4, "two\n"), own(2, 0, "one\ntwo\n")).ownPrinted["c"]).toEqual({
      text: "one\ntwo\n",
      length: 8,
    });
    expect(after(own(1, 0, "one\n"), own(2, 8, "three"), own(3, 0, "one\ntwo\nthree")).ownPrinted["c"]?.text).toBe(
      "one\ntwo\nthree",
    );
    expect(after(own(1, 0, "one\n"), own(2, 0, "one\n")).ownPrinted["c"]?.text).toBe("one\n");
  });

  it("drops the draft when its message has come, or the call it turned out to be", () => {
    const delta = event("reasoning-delta", 1, { message_id: "m", offset: 0, text: "hm" });
    const call = message({ id: "other", message_type: "tool_call" });
    expect(after(delta, event("message", 2, { message: call }))).toMatchObject({
      drafts: [],
      messages: [{ id: "other" }],
    });
  });

  it("keeps a message of a type that it does not know", () => {
    const odd = message({ message_type: "hologram" as never });
    expect(after(event("message", 1, { message: odd })).messages).toEqual([odd]);
  });

  it("survives an event that a newer server sends", () => {
    expect(after(event("hologram" as never, 3))).toEqual({ ...start(), lastSeq: 3, news: 3 });
  });

  it("waits for the model's server until it answers, or the turn ends", () => {
    const retry = { seconds: 12, until: "", attempt: 2, tries: 4, reason: "provider_rate_limited", status: 429 };
    const waiting = after(event("turn-started", 1), event("model-retry", 2, { retry }));
    expect(waiting).toMatchObject({ retry, state: "running", news: 1, lastSeq: 2 });
    const then = (type: WireEvent["type"], body: object) => reduceAll(waiting, [event(type, 3, body)]).retry;
    expect(then("queue-updated", { queued: {} })).toEqual(retry);
    expect(then("message", { message: message({ role: "user" }) })).toEqual(retry);
    expect(then("text-delta", { message_id: "m", offset: 0, text: "Hi" })).toBeNull();
    expect(then("reasoning-delta", { message_id: "m", offset: 0, text: "hm" })).toBeNull();
    expect(then("message", { message: message({ message_type: "tool_call" }) })).toBeNull();
    expect(then("turn-ended", { reason: "stopped" })).toBeNull();
  });

  it("waits for MCP servers until they are started, or the turn ends", () => {
    const wait = (servers: string[]) => ({ wait: { servers } });
    const waiting = after(event("turn-started", 1), event("mcp-wait", 2, wait(["git", "mail"])));
    expect(waiting).toMatchObject({ starting: ["git", "mail"], state: "running", news: 1, lastSeq: 2 });
    const then = (type: WireEvent["type"], body: object) => reduceAll(waiting, [event(type, 3, body)]).starting;
    expect(then("mcp-wait", wait(["mail"]))).toEqual(["mail"]);
    expect(then("mcp-wait", wait([]))).toEqual([]);
    expect(then("turn-ended", { reason: "stopped" })).toEqual([]);
    expect(then("mcp-wait", { ...wait([]), task_id: "one" })).toEqual(["git", "mail"]);
  });

  it("leaves the wait of a job's task to the job", () => {
    expect(after(event("model-retry", 1, { task_id: "one", retry: { attempt: 2 } })).retry).toBeNull();
  });

  it("tells how long was thought by those who watched", () => {
    const before = after(
      event("reasoning-delta", 1, { message_id: "m", offset: 0, text: "hm" }),
      event("text-delta", 7, { message_id: "m", offset: 0, text: "So" }),
    );
    const then = reduceAll(before, [event("message", 9, { message: message({ id: "m" }) })]);
    expect(thinkingTimes(before, then)).toEqual({ m: 6 });
  });

  it("takes older messages in front, each once", () => {
    const view = after(event("message", 1, { message: message({ id: "new" }) }));
    expect(prepend(view, [message({ id: "old" }), message({ id: "new" })]).messages.map(({ id }) => id)).toEqual([
      "old",
      "new",
    ]);
  });
});

// --- replay equals live: a turn as it is watched, and as a late reader gets it, with the deltas of complete messages compacted

interface Said {
  words: string[];
  thoughts: string[];
  asks: boolean;
}

const said = fc.record({
  words: fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 4 }),
  thoughts: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  asks: fc.boolean(),
});

function turn(replies: Said[], finished: boolean): WireEvent[] {
  const events: WireEvent[] = [];
  const add = (type: WireEvent["type"], body: object) => events.push(event(type, events.length + 1, body));
  add("message", { message: message({ id: "u", role: "user" }) });
  add("turn-started", {});
  replies.forEach(({ words, thoughts, asks }, at) => {
    const id = `m${at}`;
    for (const [type, pieces] of [
      ["reasoning-delta", thoughts],
      ["text-delta", words],
    ] as const) {
      let offset = 0;
      for (const piece of pieces) {
        add(type, { message_id: id, offset, text: piece });
        offset += [...piece].length;
      }
    }
    if (!finished && at === replies.length - 1) return;
    add("usage", { usage: { prompt: at, completion: 1 } });
    add("message", { message: message({ id, content: words.join(""), reasoning: thoughts.join("") }) });
    if (!asks) return;
    add("permission-request", { approval: approval({ id: `a${at}` }) });
    add("permission-decided", { approval: { id: `a${at}` } });
  });
  if (finished) add("turn-ended", {});
  return events;
}

function compacted(events: WireEvent[]): WireEvent[] {
  const complete = new Set(events.flatMap((one) => (one.type === "message" ? [one.message.id] : [])));
  return events.filter((one) => !("message_id" in one && complete.has(String(one.message_id))));
}

describe("replay and live", () => {
  it("lead to the same view, wherever a reader comes in", () => {
    fc.assert(
      fc.property(fc.array(said, { maxLength: 4 }), fc.boolean(), fc.nat(30), (replies, finished, cut) => {
        const live = turn(replies, finished);
        const watched = reduceAll(start(), live);
        expect(reduceAll(start(), compacted(live))).toEqual(watched);
        // Broken off and come back: what was seen already is sent again, the rest compacted.
        const some = reduceAll(start(), live.slice(0, cut));
        expect(reduceAll(some, compacted(live))).toEqual(watched);
        expect(reduceAll(some, live)).toEqual(watched);
      }),
    );
  });
});

it("has the meter read again when a turn ends: a stopped request tells of no usage", () => {
  expect(after(event("turn-started", 4), event("turn-ended", 7, { reason: "stopped" })).spent).toBe(7);
});

it("offers to continue a blocked turn, but not one of a job's task", () => {
  const ended = (more: object) =>
    after(event("turn-started", 1), event("turn-ended", 2, { reason: "blocked", ...more }));
  expect(continuable(ended({}))).toMatchObject({ reason: "blocked" });
  expect(continuable(ended({ task_id: "index" }))).toBeNull();
});

it("knows how many steps are left where a page joins, and after an answer, and forgets it when the turn ends", () => {
  const joined = opened({ ...CHAT, state: "awaiting_approval", steps_left: 2 } as unknown as OpenChat, [], [], 0);
  expect(joined.stepsLeft).toBe(2);
  const allowed = reduceAll(joined, [event("turn-started", 1, { state: "running" })]);
  expect(allowed.stepsLeft).toBe(2);
  const told = reduceAll(allowed, [
    event("usage", 2, { usage: { steps_left: 1 } }),
    event("usage", 3, { usage: { steps_left: 9 }, task_id: "another agent's" }),
  ]);
  expect(told.stepsLeft).toBe(1);
  expect(reduceAll(told, [event("turn-ended", 4, { reason: "limit", state: "idle" })]).stepsLeft).toBeNull();
});
