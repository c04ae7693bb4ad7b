import { fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import type { Message } from "../wire/nouns";
import { changedSince, TurnChanges } from "./TurnChanges";

const did = (path: string): Message => {
  const diff = `--- a/${path}\n+++ b/${path}\n@@ -1 +1,2 @@\n-old\n+new\n+more\n`;
  return message({
    id: path,
    message_type: "tool_result",
    payload: { tool_call_id: path, tool: "update_file", status: "ok", diff } as never,
  });
};
const said = message({ id: "said", role: "user" });

it("counts what was changed since the person last spoke, each file once", () => {
  const { files, added, removed, rest } = changedSince([
    said,
    did("before.txt"),
    said,
    did("a.txt"),
    did("b.txt"),
    did("a.txt"),
  ]);
  expect([files.map(({ path }) => path), added, removed, rest]).toEqual([["a.txt", "b.txt"], 6, 3, ""]);
  expect(files[0]!.lines.filter(({ kind }) => kind === "hunk")).toHaveLength(2);
});

it("says that there is more where the turn began before what is loaded", () => {
  expect(changedSince([did("a.txt")]).rest).toContain("before the messages that are loaded");
});

it("names the first files, and leads to the way back", async () => {
  const look = vi.fn();
  const { container } = show(<TurnChanges messages={[said, ...["a", "b", "c", "d", "e"].map(did)]} onBack={look} />);
  expect(screen.getByText(/^5 files\s+changed$/)).toBeTruthy();
  expect(screen.getByRole("note").textContent).toContain("a, b, c and 2 more");
  await userEvent.click(screen.getByRole("button", { name: "Go back…" }));
  expect(look).toHaveBeenCalledOnce();
  await expectAccessible(container);
});

it("says nothing where nothing was changed", () => {
  expect(show(<TurnChanges messages={[did("a.txt"), said, message()]} onBack={() => {}} />).container.textContent).toBe(
    "",
  );
});

it("is read file by file, by pointer or by key, and says how many were looked at", async () => {
  show(<TurnChanges messages={[said, ...["a.txt", "b.txt", "c.txt"].map(did)]} onBack={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Review" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByLabelText("Changes of a.txt")).toBeTruthy();
  await userEvent.click(dialog.getByRole("button", { name: "Next file" }));
  expect(dialog.getByLabelText("Changes of b.txt")).toBeTruthy();
  expect(dialog.getByText("2 of 3 reviewed")).toBeTruthy();
  fireEvent.keyDown(dialog.getByRole("listbox"), { key: "ArrowDown" });
  expect(dialog.getByLabelText("Changes of c.txt")).toBeTruthy();
  expect(dialog.getByText("All 3 reviewed")).toBeTruthy();
  await expectAccessible(document.body);
});

it("draws only some of 2,000 changed files, always the chosen one with its place, and goes to the last by key", async () => {
  const paths = Array.from({ length: 2_000 }, (_, at) => `${at}.txt`);
  show(<TurnChanges messages={[said, ...paths.map(did)]} onBack={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Review" }));
  const dialog = within(await screen.findByRole("dialog"));
  const list = dialog.getByRole("listbox");
  for (const [key, path] of [
    ["End", "1999.txt"],
    ["Home", "0.txt"],
    ["ArrowDown", "1.txt"],
  ] as const) {
    fireEvent.keyDown(list, { key });
    expect(dialog.getByLabelText(`Changes of ${path}`)).toBeTruthy();
    const chosen = document.getElementById(list.getAttribute("aria-activedescendant") ?? "");
    expect(chosen?.textContent).toContain(path);
    expect(chosen?.getAttribute("aria-setsize")).toBe("2000");
    expect(chosen?.getAttribute("aria-posinset")).toBe(String(paths.indexOf(path) + 1));
  }
  expect(list.querySelectorAll("*").length).toBeLessThan(1_000);
  await expectAccessible(document.body);
});

const wentBack = (snapshot: string, undo: string, paths: { restored?: string[]; deleted?: string[] }): Message =>
  message({
    id: undo,
    role: "system",
    payload: { restore: { snapshot, undo_snapshot: undo, restored: [], deleted: [], ...paths } } as never,
  });

it("names no file that was put back, and names it again once that is undone", () => {
  const pathsOf = (...messages: Message[]) => changedSince([said, ...messages]).files.map(({ path }) => path);
  const back = wentBack("s1", "s2", { restored: ["a.txt"] });
  expect(pathsOf(did("a.txt"), did("b.txt"), back)).toEqual(["b.txt"]);
  expect(pathsOf(did("a.txt"), wentBack("s1", "s2", { deleted: ["a.txt"] }))).toEqual([]);
  expect(pathsOf(did("a.txt"), back, wentBack("s2", "s3", { restored: ["a.txt"] }))).toEqual(["a.txt"]);
  expect(pathsOf(did("a.txt"), back, did("a.txt"))).toEqual(["a.txt"]);
});

const folder = (path: string) => `--- /dev/null\n+++ b/${path}\nnothing → folder\n`;
const created = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,1 @@\n+{}\n`;
const ran = (diff: string) =>
  message({
    id: "ran",
    message_type: "tool_result",
    payload: { tool_call_id: "ran", tool: "execute_command", status: "ok", diff } as never,
  });

it("counts files, not the folders that came with them; an empty folder stands for itself", () => {
  const diff = folder("made") + folder("made/deep") + created("made/deep/a.json") + folder("empty");
  expect(changedSince([said, ran(diff)]).files.map(({ path }) => path)).toEqual(["made/deep/a.json", "empty"]);
});

it("says that lines were left out of the count", () => {
  const left = "--- /dev/null\n+++ b/b.json\nnot drawn line by line: nothing → file of 12 bytes, sha256 0\n";
  const { container, unmount } = show(
    <TurnChanges messages={[said, ran(created("a.json") + left)]} onBack={() => {}} />,
  );
  expect(container.textContent).toContain("at least +1 −0");
  unmount();
  show(<TurnChanges messages={[said, ran(created("a.json"))]} onBack={() => {}} />);
  expect(screen.getByRole("note").textContent).not.toContain("at least");
});
