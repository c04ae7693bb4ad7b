import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/room";
import type { Message } from "../wire/nouns";
import { TurnChanges, changedSince } from "./TurnChanges";

const did = (path: string): Message => {
  const diff = `--- a/${path}\n+++ b/${path}\n@@ -1 +1,2 @@\n-old\n+new\n+more\n`;
  return message({ id: path, message_type: "tool_result", payload: { tool_call_id: path, tool: "update_file", status: "ok", diff } as never });
};
const said = message({ id: "said", role: "user" });

it("counts what was changed since the person last spoke, each file once", () => {
  expect(changedSince([said, did("before.txt"), said, did("a.txt"), did("b.txt"), did("a.txt")])).toEqual({ paths: ["a.txt", "b.txt"], added: 6, removed: 3, more: false });
});

it("names the first files, and leads to the way back", async () => {
  const look = vi.fn();
  const { container } = show(<TurnChanges messages={[said, ...["a", "b", "c", "d", "e"].map(did)]} onLook={look} />);
  expect(screen.getByText(/^5 files\s+changed$/)).toBeTruthy();
  expect(screen.getByText("a, b, c and 2 more")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Look or go back" }));
  expect(look).toHaveBeenCalledOnce();
  await expectAccessible(container);
});

it("says nothing where nothing was changed", () => {
  expect(show(<TurnChanges messages={[did("a.txt"), said, message()]} onLook={() => {}} />).container.textContent).toBe("");
});
