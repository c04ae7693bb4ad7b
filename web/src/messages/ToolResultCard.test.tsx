import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { cut, cutStart } from "../content/Output";
import * as acts from "../state/acts";
import { useLive } from "../state/live";
import { show } from "../testing/render";
import { readToolResult } from "../wire/nouns";
import { ToolResultCard } from "./ToolResultCard";

it("cuts a result of 400 kB until the whole is asked for", async () => {
  const output = "line of text\n".repeat(31_000);
  const { container } = show(
    <ToolResultCard result={readToolResult({ tool_call_id: "c", status: "ok" })!} output={output} />,
  );
  expect(container.textContent!.length).toBeLessThan(25_000);
  await userEvent.click(screen.getByRole("button", { name: /Show all/ }));
  expect(container.textContent!.length).toBeGreaterThan(400_000);
});

it("shows markup in a result as the text it is", () => {
  const { container } = show(
    <ToolResultCard
      result={readToolResult({ tool_call_id: "c", status: "ok" })!}
      output={"<b onclick='x()'>bold</b>"}
    />,
  );
  expect(container.querySelector("b")).toBeNull();
  expect(container.textContent).toContain("<b onclick");
});

it("names the error and its reason", () => {
  show(
    <ToolResultCard
      result={
        readToolResult({
          tool_call_id: "c",
          status: "refused",
          error: { code: "forbidden_by_role", message: "Planner may not." },
        })!
      }
      output="Planner may not."
    />,
  );
  expect(screen.getByText("not allowed for this role")).toBeTruthy();
});

it("shows the end of what failed: the reason stands there", () => {
  const output = `${"much before it\n".repeat(5_000)}the reason`;
  const { container } = show(
    <ToolResultCard result={readToolResult({ tool_call_id: "c", status: "error" })!} output={output} />,
  );
  expect(container.textContent).toContain("the reason");
  expect(screen.getByRole("button", { name: /Show all/ })).toBeTruthy();
  expect(cutStart("short")).toBe("short");
  expect(cutStart(`${"x".repeat(30_000)}\nlast`)).toBe("last");
});

it("cuts by lines and by characters", () => {
  expect(cut("a\n".repeat(300)).split("\n")).toHaveLength(200);
  expect(cut("x".repeat(30_000))).toHaveLength(20_000);
  expect(cut("short")).toBe("short");
});

// proves ACP-2/1
it("names the agent that did it, and what it was kept from", () => {
  const facts = {
    agent: "opencode",
    agent_calls: 4,
    kept_from: ["cat /etc/passwd: it lies outside the workspace", "cat /etc/passwd: it lies outside the workspace"],
    dropped_files: ["a.txt", "<b>b</b>.txt"],
  };
  const { container } = show(
    <ToolResultCard result={readToolResult({ tool_call_id: "c", status: "error", facts })!} output="No." />,
  );
  expect(screen.getByText("Done by the agent opencode, in 4 steps")).toBeTruthy();
  const lists = screen.getAllByRole("list").map((list) => [...list.children].map((line) => line.textContent));
  expect(lists).toEqual([["cat /etc/passwd: it lies outside the workspace"], ["a.txt", "<b>b</b>.txt"]]);
  expect(container.querySelector("b")).toBeNull();
});

it("says nothing of agents where none was at work", () => {
  show(<ToolResultCard result={readToolResult({ tool_call_id: "c", status: "ok" })!} output="Fine." />);
  expect(screen.queryByText(/Done by the agent/)).toBeNull();
});

it("shows a person who denied a call their own words, not what the model was told", () => {
  const told = (said: string) =>
    `The person denied this call (update_file on /a.py).${said} Do not try it again; find another way or ask.`;
  const denied = (said: string) => (
    <ToolResultCard
      result={
        readToolResult({
          tool_call_id: "c",
          status: "denied",
          error: { code: "denied_by_user", message: told(said) },
        })!
      }
      output={told(said)}
    />
  );
  const { container, rerender } = show(denied(" They said: “Use Decimal”"));
  expect(container.textContent).toBe("denied by you · “Use Decimal”");
  rerender(denied(""));
  expect(container.textContent).toBe("denied by you");
});

it("says once why a command that was stopped has ended", () => {
  const message = "It was stopped; none of its changes was kept.";
  const { container } = show(
    <ToolResultCard
      result={readToolResult({ tool_call_id: "c", status: "cancelled", error: { code: "interrupted", message } })!}
      output={`test 1 ... ok\n${message}`}
    />,
  );
  expect(container.textContent).toContain("test 1 ... ok");
  expect(container.textContent!.split(message)).toHaveLength(2);
});

it("shows the errors that an edit brought as text", () => {
  const errors = [{ path: "a.py", line: 3, message: "Undefined name <b>x</b>" }];
  const pending = { server: "gopls", is_starting: true };
  const facts = { diagnostics: { server: "ruff", count: 2, errors }, diagnostics_pending: pending };
  const result = readToolResult({ tool_call_id: "c", status: "ok", diff: "", facts })!;
  const { container } = show(<ToolResultCard result={result} output="Updated." />);
  screen.getByText("ruff finds 2 new errors:");
  screen.getByText("gopls has not looked at it yet: errors come with a later result.");
  expect(screen.getByRole("listitem").textContent).toBe("a.py:3 Undefined name <b>x</b>");
  expect(container.querySelector("b")).toBeNull();
});

it("names the values that no model is told, and shows the agent the one that is chosen", async () => {
  const asked = vi.spyOn(acts, "reveal").mockResolvedValue();
  useLive.setState({ chatId: "chat" });
  const payload = { tool_call_id: "c", status: "ok", hidden_values: ["GitHub token", "password"] };
  show(<ToolResultCard result={readToolResult(payload)!} output="a" messageId="m" />);
  screen.getByText("The agent is not shown the GitHub token in this result.");
  await userEvent.click(screen.getAllByRole("button", { name: "Show it to the agent" })[1]!);
  expect(asked).toHaveBeenCalledWith("chat", "m", 2);
  const note = { role: "system", payload: { revealed: { message_id: "m", number: 2 } } };
  act(() => useLive.setState({ view: { messages: [note] } as never }));
  screen.getByText("The agent was shown the password in this result.");
  expect(screen.getAllByRole("button", { name: "Show it to the agent" })).toHaveLength(1);
  act(() => useLive.setState({ chatId: null, view: null })); // other files share the store
});
