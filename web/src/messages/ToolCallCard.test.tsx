import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Done } from "../state/rows";
import { expectAccessible, message, show } from "../testing/render";
import { readToolResult } from "../wire/nouns";
import { readToolCall } from "../wire/toolCalls";
import { ToolCallCard } from "./ToolCallCard";

const done = (result: object | null, output = ""): Done => ({
  message: message({ message_type: "tool_call" }),
  call: { id: "c", tool: "update_file", parameters: { path: "notes.md", content: "x" } },
  result: result ? readToolResult(result) : null,
  resultId: null,
  output,
  seconds: 0.2,
});

it.each([
  ["waiting", "waits for you"],
  ["denied", "denied"],
  ["allowed", "allowed"],
] as const)("says of a call of a batch that it is %s", (standing, words) => {
  show(<ToolCallCard done={done(null)} standing={standing} />);
  expect(screen.getByText(words)).toBeTruthy();
});

it.each([
  [{ status: "ok", facts: { allowed_by: "approval:a", decided_by: "Bob" } }, "allowed by Bob"],
  [{ status: "denied", facts: { decided_by: "Bob" } }, "denied by Bob"],
  [{ status: "denied", facts: {} }, "denied by The owner"],
  [{ status: "ok", facts: { allowed_by: "approval:a", decided_by: "Ada" } }, null],
  [{ status: "ok", facts: { allowed_by: "rule:1" } }, null],
])("names who decided it, where several people work: %j", (result, words) => {
  show(<ToolCallCard done={done({ tool_call_id: "c", ...result })} standing="running" />, "member");
  expect(screen.queryByText(/^(allowed|denied) by/)?.textContent ?? null).toBe(words);
});

it("names nobody to who is alone on the server", () => {
  const result = { tool_call_id: "c", status: "ok", facts: { allowed_by: "approval:a" } };
  show(<ToolCallCard done={done(result)} standing="running" />);
  expect(screen.queryByText(/^allowed by/)).toBeNull();
});

it("leads from the question to another agent to the job that it became, once there is one", () => {
  const asking = { ...done(null), call: { id: "c", tool: "ask_agent", parameters: { agent: "scout", task: "look" } } };
  const { rerender } = show(<ToolCallCard done={asking} standing="waiting" />);
  expect(screen.queryByRole("link")).toBeNull();
  rerender(<ToolCallCard done={asking} standing="running" />);
  expect(screen.getByRole("link", { name: "See its job" }).getAttribute("href")).toBe("#/jobs/c");
});

// proves UI-2/5
it("is one line with the result folded, and opens to the diff", async () => {
  const diff = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n";
  const { container } = show(
    <ToolCallCard done={done({ tool_call_id: "c", status: "ok", diff })} standing="running" />,
  );
  expect(screen.queryByText("new")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /Changed notes.md/ }));
  expect(screen.getByText("new")).toBeTruthy();
  expect(screen.getAllByLabelText("1 line added, 1 removed")).toHaveLength(2);
  await expectAccessible(container);
});

// proves UI-2/4
it("says when it waits for a person, and when it runs", () => {
  show(<ToolCallCard done={done(null)} standing="waiting" />);
  expect(screen.getByText("waits for you")).toBeTruthy();
});

it("tells a viewer that a call waits, and not that it waits for them", () => {
  show(<ToolCallCard done={done(null)} standing="waiting" />, "viewer");
  expect(screen.getByText("waits for approval")).toBeTruthy();
  expect(screen.queryByText("waits for you")).toBeNull();
});

it.each([
  ["Bob", "denied by Bob"],
  ["", "denied by The owner"],
  ["Ada", null],
])("names who denied it while other calls of its batch wait: %j", (decidedBy, words) => {
  show(<ToolCallCard done={done(null)} standing="denied" decidedBy={decidedBy} />, "member");
  expect(screen.queryByText(/^denied by/)?.textContent ?? null).toBe(words);
});

it.each([
  ["refused", "refused"],
  ["denied", "denied"],
  ["error", "failed"],
  ["interrupted", "interrupted"],
  ["cancelled", "cancelled"],
])("says %s in words", (status, words) => {
  show(<ToolCallCard done={done({ tool_call_id: "c", status })} standing="running" />);
  expect(screen.getByText(words)).toBeTruthy();
});

it("shows what it has printed so far without being opened, and no longer when it is done", () => {
  const { unmount } = show(<ToolCallCard done={done(null, "1 passed\n2 passed\n")} standing="running" />);
  expect(screen.getByLabelText("Output so far").textContent).toContain("2 passed");
  unmount();
  show(<ToolCallCard done={done({ tool_call_id: "c", status: "ok" }, "2 passed")} standing="running" />);
  expect(screen.queryByLabelText("Output so far")).toBeNull();
});

it("does not say that there is no result above what it prints", async () => {
  show(<ToolCallCard done={done(null, "half a line")} standing="running" />);
  await userEvent.click(screen.getByRole("button", { name: /notes.md/ }));
  expect(screen.queryByText("No result yet.")).toBeNull();
  expect(screen.getByText("half a line")).toBeTruthy();
});

it("says in its one line how many errors an edit brought", () => {
  const facts = {
    diagnostics: { server: "ruff", count: 1, errors: [{ path: "a.py", line: 3, message: "Undefined" }] },
  };
  show(<ToolCallCard done={done({ tool_call_id: "c", status: "ok", facts })} standing="running" />);
  expect(screen.getByText("1 new error")).toBeTruthy();
});

it.each([
  [{ check: "pytest -q", baseline: true }, "error", "Checked before the work pytest -q", "did not pass yet"],
  [{ check: "pytest -q", baseline: true }, "ok", "Checked before the work pytest -q", "passed already"],
  [{ check: "pytest -q" }, "error", "Checked pytest -q", "failed"],
  [{}, "error", "Run pytest -q", "failed"],
])("says of what the server ran itself that it is no step of the agent: %j %s", (marks, status, words, standing) => {
  const call = readToolCall({ id: "c", tool: "execute_command", parameters: { command: "pytest -q" }, ...marks });
  const result = { tool_call_id: "c", status, facts: { exit_code: status === "ok" ? 0 : 1 } };
  show(<ToolCallCard done={{ ...done(result), call: call as NonNullable<typeof call> }} standing="running" />);
  expect(screen.getByRole("button", { name: new RegExp(words) }).textContent).toContain(standing);
  expect(screen.queryByText("failed") === null).toBe(standing !== "failed");
});
