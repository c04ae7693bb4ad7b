import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { ToolCallCard } from "../messages/ToolCallCard";
import { opened, reduceAll } from "../state/reduce";
import { event, expectAccessible, message, show, TOOLS } from "../testing/render";
import type { Message, OpenChat } from "../wire/nouns";
import { AutonomyOffer } from "./AutonomyOffer";
import { AutonomySelector } from "./AutonomySelector";
import { allowedTools, nextLevel, offeredLevel } from "./levels";

const chat = {
  id: "chat",
  state: "idle",
  config: { agent_role: "actor", autonomy: "ask" },
  waiting_for: { approvals: [], question: null, questions: [] },
  continuable: null,
} as unknown as OpenChat;
const allowed = (tool: string, at: number): Message =>
  message({
    id: `r${at}`,
    role: "tool",
    message_type: "tool_result",
    payload: { tool_call_id: `c${at}`, tool, status: "ok", facts: { allowed_by: `approval:${at}` } } as never,
  });
const switched = message({ id: "s", role: "system", payload: { old_autonomy: "ask", new_autonomy: "edits" } as never });

it("offers the level that would have asked less after three of a kind, and counts anew after a change", () => {
  const offered = (messages: Message[], ...rest: ["ask" | "edits", boolean]) =>
    offeredLevel(
      allowedTools(messages).map((tool) => TOOLS[tool as keyof typeof TOOLS].kind),
      ...rest,
    );
  const edits = [1, 2, 3].map((at) => allowed("update_file", at));
  const commands = [4, 5, 6].map((at) => allowed("execute_command", at));
  expect(offered(edits.slice(0, 2), "ask", true)).toBeNull();
  expect(offered(edits, "ask", true)).toBe("edits");
  expect(offered([...edits, switched], "edits", true)).toBeNull();
  expect(offered(commands, "edits", true)).toBe("sandboxed");
  expect(offered(commands, "edits", false)).toBeNull();
});

it("never steps to a level that the machine does not hold", () => {
  expect([nextLevel("ask", true), nextLevel("edits", true), nextLevel("sandboxed", true)]).toEqual([
    "edits",
    "sandboxed",
    "ask",
  ]);
  expect(nextLevel("edits", false)).toBe("ask");
});

it("shows the levels with one sentence each, and why the last is not offered", async () => {
  const choose = vi.fn();
  const { container } = show(<AutonomySelector autonomy="ask" onChoose={choose} />);
  await userEvent.click(screen.getByRole("button", { name: /Autonomy: Ask/ }));
  expect(screen.getByRole("menuitemradio", { name: /Sandboxed/ }).getAttribute("aria-disabled")).toBe("true");
  expect(screen.getByText(/commands are not confined/)).toBeTruthy();
  await userEvent.click(screen.getByRole("menuitemradio", { name: /Edits/ }));
  expect(choose).toHaveBeenCalledWith("edits");
  await expectAccessible(container);
});

it("follows a recorded change of the autonomy", () => {
  expect(reduceAll(opened(chat, [], [], 0), [event("message", 1, { message: switched })]).autonomy).toBe("edits");
});

it("says on a call that the autonomy let it pass", () => {
  const result = {
    tool_call_id: "c1",
    tool: "create_file",
    status: "ok",
    error: null,
    diff: null,
    facts: { allowed_by: "autonomy:edits" },
  } as const;
  show(
    <ToolCallCard
      done={
        {
          message: message(),
          call: { id: "c1", tool: "create_file", parameters: { path: "a.txt" }, terminate: false },
          result,
          output: "",
          seconds: 1,
        } as never
      }
      standing="running"
    />,
  );
  expect(screen.getByText("allowed by autonomy: edits")).toBeTruthy();
});

it("is taken or declined by one press", () => {
  const choose = vi.fn();
  const view = opened(
    chat,
    [1, 2, 3].map((at) => allowed("create_file", at)),
    [],
    0,
  );
  show(<AutonomyOffer view={view} onChoose={choose} />);
  fireEvent.click(screen.getByRole("button", { name: "Switch to Edits" }));
  expect(choose).toHaveBeenCalledWith("edits");
  fireEvent.click(screen.getByRole("button", { name: "Not now" }));
  expect(screen.queryByRole("button", { name: "Switch to Edits" })).toBeNull();
});
