import { expect, it } from "vitest";
import { event, message } from "../testing/render";
import { boundary } from "../ui/Announcer";
import type { OpenChat } from "../wire/nouns";
import { wordingFor } from "./me";
import { opened, reduceAll } from "./reduce";
import { isOrder, readRun, runInHand, runOf, runsOf } from "./runs";

const CHAT = {
  id: "chat",
  state: "idle",
  config: { agent_role: "planner" },
  waiting_for: { approvals: [], question: null, questions: [] },
} as unknown as OpenChat;
const OWN = wordingFor({ may: () => true });
const VIEW = opened(CHAT, [], [], 0);
const told = (step: number, parts: object = {}) => ({
  run_id: "r",
  name: "release",
  step,
  of: 2,
  status: "running",
  title: `Step ${step}`,
  ...parts,
});
const step = (at: number, parts: object = {}) =>
  message({ id: `s${at}`, role: "user", turn_id: "r", content: "Tag it.", payload: { workflow: told(at) }, ...parts });
const ORDER = step(1, { id: "order", content: "/release version=1" });

it("follows a run from step to step, and says so at each", () => {
  const first = reduceAll(VIEW, [event("turn-started", 1), event("workflow-progress", 2, { workflow: told(1) })]);
  const second = reduceAll(first, [event("workflow-progress", 3, { workflow: told(2) })]);
  const over = reduceAll(second, [
    event("workflow-progress", 4, {
      workflow: told(2, { status: "failed", error: { code: "x", message: "No tag." } }),
    }),
    event("turn-ended", 5, { reason: "failed" }),
  ]);
  expect(second.runs["r"]).toMatchObject({ step: 2, status: "running" });
  expect(boundary(first, second, OWN)).toBe("release: step 2 of 2, Step 2.");
  expect(boundary(second, over, OWN)).toBe("release ended: failed. No tag.");
  expect([runInHand(runsOf(second), second.state)?.step, runInHand(runsOf(over), over.state)]).toEqual([2, null]);
});

it("tells the order from the steps", () => {
  expect([ORDER, step(1)].map((each) => isOrder(each, runOf(each)!))).toEqual([true, false]);
});

it("knows from the messages alone how far a run came and how it ended", () => {
  const seen = (state: "idle" | "running", ...messages: ReturnType<typeof step>[]) =>
    runsOf({ messages, runs: {}, state })["r"];
  const fault = message({
    id: "e",
    role: "system",
    turn_id: "r",
    payload: { error: { code: "x", message: "No tag." } },
  });
  expect(seen("running", ORDER, step(2))).toMatchObject({ status: "running", step: 2 });
  expect(seen("idle", ORDER, step(2))).toMatchObject({ status: "completed" });
  expect(seen("idle", ORDER)).toMatchObject({ status: "stopped" });
  expect(seen("idle", ORDER, step(2), fault)).toMatchObject({ status: "failed", error: "No tag." });
  expect(seen("running", ORDER, step(2), message({ id: "later", turn_id: "t2" }))).toMatchObject({
    status: "completed",
  });
});

it("reads nothing from what is no run", () => {
  expect([null, {}, { run_id: "r" }, told(1, { status: "hologram" })].map(readRun)).toEqual([null, null, null, null]);
});
