import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import type { Restored } from "./acts";
import { LineCount } from "./Checkpoints";
import { changesOf, type Snapshot, stretchesOf } from "./changes";
import { RestorePreview } from "./RestorePreview";
import { RestoreProgress } from "./RestoreProgress";

const stopped = vi.hoisted(() => vi.fn().mockResolvedValue(undefined));
vi.mock("../state/acts", () => ({ stop: stopped }));

const snapshot = (id: string, moment: "before" | "after", call: string | null) =>
  ({ id, moment, tool_call_id: call }) as Snapshot;

it("makes one change of a call's two snapshots, the newest first", () => {
  const changes = changesOf([snapshot("1", "before", "a"), snapshot("2", "after", "a"), snapshot("3", "before", "b")]);
  expect(changes.map(({ before, after }) => [before.id, after?.id])).toEqual([
    ["3", undefined],
    ["1", "2"],
  ]);
});

it("puts the changes of one turn together, and what is not known by itself", () => {
  const call = (id: string, turn_id: string) =>
    message({
      id: `m${id}`,
      message_type: "tool_call",
      turn_id,
      payload: { id, tool: "create_file", parameters: {} } as never,
    });
  const messages = [
    message({ id: "p", turn_id: "t0", payload: { goal: "Write a note" } as never }),
    message({ id: "v", role: "user", turn_id: "t1", content: "{ … }", payload: { plan_id: "p" } as never }),
    message({ id: "u", role: "user", turn_id: "t2", content: "Do it" }),
    call("a", "t1"),
    call("b", "t2"),
    call("c", "t2"),
  ];
  const changes = ["x", "a", "b", "c"].map((id) => ({ before: snapshot(id, "before", id), after: null })).toReversed();
  const stretches = stretchesOf([...changes, { before: snapshot("r", "before", null), after: null }], messages);
  expect(stretches.map(({ asked, changes: own }) => [asked, own.map(({ before }) => before.id)])).toEqual([
    ["Do it", ["c", "b"]],
    ["Write a note", ["a"]],
    ["", ["x"]],
    ["", ["r"]],
  ]);
});

it("puts the changes of all tasks of a job together, also those that a commit of their copy made", () => {
  const part = { job_id: "j", role: "user" } as const;
  const messages = [
    message({ id: "p", turn_id: "t0", payload: { goal: "Write two notes" } as never }),
    message({ ...part, id: "one", turn_id: "t1", task_id: "1", content: "Task 1" }),
    message({ ...part, id: "two", turn_id: "t2", task_id: "2", content: "Task 2" }),
  ];
  const made = (id: string, turn_id: string) => ({ ...snapshot(id, "before", null), turn_id });
  const changes = [made("b", "t2"), made("a", "t1"), made("z", "t0")].map((before) => ({ before, after: null }));
  expect(stretchesOf(changes, messages).map(({ asked, changes: own }) => [asked, own.length])).toEqual([
    ["Write two notes", 2],
    ["", 1],
  ]);
});

const ALL = { within: "", onNarrow: () => {}, onCancel: () => {} };

it("narrows a restore to one folder before it is confirmed", async () => {
  const onNarrow = vi.fn();
  const would = {
    restored: ["a/b"],
    deleted: [],
    conflicts: [],
    unkept: [],
    diff: null,
    counts: { restored: 20000, deleted: 0 },
  };
  show(<RestorePreview {...ALL} would={would as never} onNarrow={onNarrow} onConfirm={() => {}} />);
  expect(screen.getByText("20,000 files will change. You can undo it.")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Show" })).toHaveProperty("disabled", true);
  await userEvent.type(screen.getByLabelText(/Only this folder or file/), " src/000 ");
  await userEvent.click(screen.getByRole("button", { name: "Show" }));
  expect(onNarrow).toHaveBeenCalledWith("src/000");
});

it("overwrites what someone else changed only when a person says so", async () => {
  const onConfirm = vi.fn();
  const would = {
    restored: ["a.txt"],
    deleted: [],
    kept: [],
    conflicts: ["a.txt"],
    reasons: { "a.txt": "edited since" },
    left: 0,
    undo_snapshot: null,
    diff: null,
    files: [],
    unkept: [],
    counts: { restored: 1, deleted: 0, kept: 0, unkept: 0 },
  } as Restored;
  const { container } = show(<RestorePreview {...ALL} would={would} onConfirm={onConfirm} />);
  await expectAccessible(container);
  expect(screen.getByRole("button", { name: "Restore" })).toHaveProperty("disabled", true);
  await userEvent.click(screen.getByRole("checkbox"));
  await userEvent.click(screen.getByRole("button", { name: "Restore" }));
  expect(onConfirm).toHaveBeenCalledWith(["a.txt"]);
});

it("lists thousands of conflicts without drawing them all, and overwrites all with one press", async () => {
  const onConfirm = vi.fn();
  const conflicts = Array.from({ length: 1000 }, (_, at) => `src/${at}.txt`);
  const would = {
    restored: conflicts,
    deleted: [],
    kept: [],
    unkept: ["node_modules/a.js"],
    conflicts,
    reasons: Object.fromEntries(conflicts.map((path) => [path, "edited since"])),
    left: 0,
    undo_snapshot: null,
    diff: null,
    files: [],
    counts: { restored: 1000, deleted: 0, kept: 0, unkept: 2 },
  } as Restored;
  const { container } = show(<RestorePreview {...ALL} would={would} onConfirm={onConfirm} />);
  expect(container.querySelectorAll("label").length).toBeLessThan(100);
  expect(screen.getByText(/2 files in folders that git ignores will stay/)).toBeTruthy();
  await userEvent.click(screen.getByRole("checkbox", { name: "Overwrite all 1,000" }));
  await userEvent.click(screen.getByRole("button", { name: "Restore" }));
  expect(onConfirm).toHaveBeenCalledWith(conflicts);
});

it("shows how far a restore is, and stops it", async () => {
  const { container } = show(<RestoreProgress chatId="c" restoring={{ done: 2000, total: 5000 }} />);
  expect(screen.getByText("2,000 of 5,000 restored")).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Stop" }));
  expect(stopped).toHaveBeenCalledWith("c");
});

it("says how many files changed where lines were not counted, and never that there were none", () => {
  const { unmount } = show(<LineCount added={0} removed={0} uncounted={20000} />);
  expect(screen.getByText("20,000 files, lines not counted")).toBeTruthy();
  expect(screen.queryByText("+0")).toBeNull();
  unmount();
  show(<LineCount added={3} removed={0} uncounted={0} />);
  expect(screen.getByText("+3")).toBeTruthy();
  expect(screen.queryByText(/not counted/)).toBeNull();
});
