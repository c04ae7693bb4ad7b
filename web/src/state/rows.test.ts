import { expect, it } from "vitest";
import { message } from "../testing/render";
import { rowHolding, rowsOf, withDrafts } from "./rows";

const call = (id: string, more = {}) =>
  message({
    id: `m-${id}`,
    message_type: "tool_call",
    payload: { id, tool: "read_file", parameters: { path: "a" } },
    ...more,
  });
const result = (id: string) =>
  message({
    id: `r-${id}`,
    role: "tool",
    message_type: "tool_result",
    content: "text",
    payload: { tool_call_id: id, status: "ok" },
  });

it("stands calls that follow each other together, each with its result", () => {
  const rows = rowsOf([call("1"), result("1"), call("2")]);
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({
    kind: "work",
    calls: [{ output: "text", result: { status: "ok" } }, { result: null }],
  });
});

it("starts a new stretch of work after words or thinking", () => {
  expect(
    rowsOf([call("1"), message({ id: "words" }), call("2"), call("3", { reasoning: "hm" })]).map(({ kind }) => kind),
  ).toEqual(["work", "message", "work", "work"]);
});

it("shows a result whose call is not there by itself", () => {
  expect(rowsOf([result("gone")])).toMatchObject([{ kind: "message" }]);
});

it("shows a call that cannot be read as a message", () => {
  expect(rowsOf([message({ message_type: "tool_call", payload: null })])).toMatchObject([{ kind: "message" }]);
});

it("knows the row of a message, also of a call and its result", () => {
  const rows = rowsOf([message({ id: "words" }), call("1"), call("2"), result("2")]);
  expect(["words", "m-1", "m-2", "r-2", "elsewhere"].map((id) => rowHolding(rows, id))).toEqual([0, 1, 1, 1, -1]);
});

it("leaves the rows of messages alone while words stream in", () => {
  const rows = rowsOf([message({ id: "words" })]);
  const said = { text: "", length: 0 };
  const draft = { messageId: "d", turnId: null, text: said, reasoning: said, startedAt: "", thoughtUntil: null };
  expect(withDrafts(rows, [], "actor")).toBe(rows);
  expect(withDrafts(rows, [draft], "actor")[0]).toBe(rows[0]);
});

it("shows what is still being said as the message that it becomes", () => {
  const said = (text: string) => ({ text, length: text.length });
  const draft = {
    messageId: "d",
    turnId: "t1",
    text: said("Half"),
    reasoning: said("Hm."),
    startedAt: "2026-01-01T00:00:00Z",
    thoughtUntil: "2026-01-01T00:00:02Z",
  };
  const [row] = withDrafts([], [draft], "planner");
  expect(row).toMatchObject({
    key: "d",
    saying: "speaking",
    thought: 2,
    message: { id: "d", content: "Half", reasoning: "Hm.", agent_role: "planner", turn_id: "t1" },
  });
  expect(withDrafts([], [{ ...draft, text: said("") }], "planner")[0]).toMatchObject({ saying: "thinking" });
});

it("shows one line for what git did for the person, and the start of what was cut off", () => {
  const note = (id: string, git: object) =>
    message({ id, role: "system", message_type: "text", payload: { git: { ...git, by: "ann" } } });
  const rows = rowsOf([
    note("commit starts", { intended_commit: "abc", parent: null }),
    note("hooks", { snapshot: "s" }),
    note("commit ends", { commit: "abc", parent: null }),
    note("switch is cut off", {}),
    note("pull starts", {}),
    note("pull ends", { snapshot: null, no_undo: null }),
    note("push", { pushed: "abc", branch: "main", remote: "origin", to: "there" }),
    note("commit is refused", { intended_commit: "def", parent: "abc" }),
    message({ id: "words" }),
    note("commit failed", { commit: null, parent: "abc" }),
    note("stash starts", {}),
  ]);
  expect(rows.map(({ key }) => key)).toEqual([
    "hooks",
    "commit ends",
    "switch is cut off",
    "pull ends",
    "push",
    "words",
    "commit failed",
    "stash starts",
  ]);
});
