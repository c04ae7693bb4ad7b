import { expect, it } from "vitest";
import { approval, event } from "../testing/render";
import type { Chat } from "../wire/nouns";
import { wordingFor } from "./me";
import { wordsFor } from "./notices";
import { waitingFirst, withHeard } from "./sidebar";

const OWN = wordingFor({ may: () => true });
const CHAT = { id: "chat", state: "idle", last_seq: 3, config: { agent_role: "planner" } } as unknown as Chat;

it("tells waiting from running", () => {
  const started = event("turn-started", 4, { state: "running" });
  expect(withHeard(CHAT, [started]).state).toBe("running");
  expect(
    withHeard(CHAT, [started, event("permission-request", 5, { state: "awaiting_approval", approval: approval() })])
      .state,
  ).toBe("awaiting_approval");
});

it("lets a list that was read later win over what was heard before", () => {
  expect(withHeard(CHAT, [event("turn-started", 2, { state: "running" })]).state).toBe("idle");
});

const chatsOf = (...states: Chat["state"][]) => states.map((state, at) => ({ ...CHAT, id: String(at), state }));
const idsOf = (lists: readonly Chat[][]) => lists.map((chats) => chats.map(({ id }) => id));

it("puts what waits for a person first, however old it is", () => {
  const listed = chatsOf("idle", "running", "awaiting_answer", "idle", "awaiting_approval");
  expect(idsOf(waitingFirst(listed, [], (chat) => chat))).toEqual([
    ["2", "4"],
    ["0", "1", "3"],
  ]);
});

it("knows of one that waits on no page of the list, once, and lets it go when it was decided", () => {
  const listed = chatsOf("idle", "awaiting_answer");
  const stalled = [listed[1]!, { ...CHAT, id: "old", state: "awaiting_approval" as const }];
  expect(idsOf(waitingFirst(listed, stalled, (chat) => chat))).toEqual([["1", "old"], ["0"]]);
  expect(idsOf(waitingFirst(listed, stalled, (chat) => ({ ...chat, state: "idle" })))).toEqual([[], ["0", "1"]]);
});

it("follows the role", () => {
  expect(
    withHeard(CHAT, [event("role-changed", 4, { role: { old_role: "planner", new_role: "actor" } })]).config.agent_role,
  ).toBe("actor");
});

it("notifies with the tool's name and nothing of the content", () => {
  expect(
    wordsFor(
      event("permission-request", 1, {
        approval: approval({ parameters: { path: "secret.txt" }, resource: "secret.txt" }),
      }),
      OWN,
    ),
  ).toBe("An approval is waiting: create_file");
  expect(wordsFor(event("turn-ended", 1, { reason: "stopped" }), OWN)).toBeNull();
});

it("a plan and a stopped turn count as waiting until the agent works again", () => {
  const idle = {
    id: "chat",
    state: "running",
    waiting: null,
    last_seq: 0,
    config: { agent_role: "planner" },
  } as unknown as Chat;
  const planned = withHeard(idle, [event("turn-ended", 1, { reason: "planned", state: "idle" })]);
  const limited = withHeard(idle, [event("turn-ended", 1, { reason: "limit", state: "idle" })]);
  expect([planned.waiting, limited.waiting]).toEqual(["plan", "continue"]);
  expect(waitingFirst([planned], [], (chat) => chat)[0]).toHaveLength(1);
  expect(withHeard(planned, [event("turn-started", 2, { state: "running" })]).waiting).toBeNull();
  expect(withHeard(idle, [event("turn-ended", 1, { reason: "answered", state: "idle" })]).waiting).toBeNull();
});

it("counts a chat as waiting until the last of several calls is decided and runs", () => {
  const asked = event("permission-request", 4, { state: "awaiting_approval", approval: approval() });
  const decided = event("permission-decided", 5, { approval: { id: "a1", state: "allowed" } });
  expect(withHeard(CHAT, [asked, decided])).toMatchObject({ state: "awaiting_approval", waiting: "approval" });
  expect(withHeard(CHAT, [asked, decided, event("tool-result", 6)])).toMatchObject({ state: "running", waiting: null });
});

it("does not wait to be continued where a task of a job is blocked", () => {
  const ended = { reason: "blocked", state: "idle" } as const;
  expect(withHeard(CHAT, [event("turn-ended", 4, { ...ended, task_id: "index" })]).waiting).toBeNull();
  expect(withHeard(CHAT, [event("turn-ended", 4, ended)]).waiting).toBe("continue");
});
