import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/room";
import type { Restored } from "./acts";
import { LineCount } from "./Checkpoints";
import { changesOf, type Snapshot, stretchesOf } from "./changes";
import { RestorePreview } from "./RestorePreview";

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
    message({ id: "u", role: "user", turn_id: "t2", content: "Do it" }),
    call("a", "t1"),
    call("b", "t2"),
    call("c", "t2"),
  ];
  const changes = ["x", "a", "b", "c"].map((id) => ({ before: snapshot(id, "before", id), after: null })).toReversed();
  const stretches = stretchesOf([...changes, { before: snapshot("r", "before", null), after: null }], messages);
  expect(stretches.map(({ asked, changes: own }) => [asked, own.map(({ before }) => before.id)])).toEqual([
    ["Do it", ["c", "b"]],
    ["", ["a"]],
    ["", ["x"]],
    ["", ["r"]],
  ]);
});

it("overwrites what someone else changed only when a person says so", async () => {
  const onConfirm = vi.fn();
  const would = {
    restored: ["a.txt"],
    deleted: [],
    kept: [],
    conflicts: ["a.txt"],
    reasons: { "a.txt": "edited since" },
    undo_snapshot: null,
    diff: null,
    files: [],
    counts: { restored: 1, deleted: 0, kept: 0 },
  } as Restored;
  const { container } = show(<RestorePreview would={would} onConfirm={onConfirm} onCancel={() => {}} />);
  await expectAccessible(container);
  expect(screen.getByRole("button", { name: "Go back" })).toHaveProperty("disabled", true);
  await userEvent.click(screen.getByRole("checkbox"));
  await userEvent.click(screen.getByRole("button", { name: "Go back" }));
  expect(onConfirm).toHaveBeenCalledWith(["a.txt"]);
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
