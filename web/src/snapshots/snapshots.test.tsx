import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/room";
import type { Restored } from "./acts";
import { type Snapshot, changesOf } from "./changes";
import { RestorePreview } from "./RestorePreview";

const snapshot = (id: string, moment: "before" | "after", call: string | null) => ({ id, moment, tool_call_id: call }) as Snapshot;

it("makes one change of a call's two snapshots, the newest first", () => {
  const changes = changesOf([snapshot("1", "before", "a"), snapshot("2", "after", "a"), snapshot("3", "before", "b")]);
  expect(changes.map(({ before, after }) => [before.id, after?.id])).toEqual([["3", undefined], ["1", "2"]]);
});

it("overwrites what someone else changed only when a person says so", async () => {
  const onConfirm = vi.fn();
  const would = { restored: ["a.txt"], deleted: [], kept: [], conflicts: ["a.txt"], reasons: { "a.txt": "edited since" }, undo_snapshot: null, diff: null, files: [] } as Restored;
  const { container } = show(<RestorePreview would={would} onConfirm={onConfirm} onCancel={() => {}} />);
  await expectAccessible(container);
  expect(screen.getByRole("button", { name: "Go back" })).toHaveProperty("disabled", true);
  await userEvent.click(screen.getByRole("checkbox"));
  await userEvent.click(screen.getByRole("button", { name: "Go back" }));
  expect(onConfirm).toHaveBeenCalledWith(["a.txt"]);
});
