import { expect, it } from "vitest";
import type { Chat } from "../wire/nouns";
import { grouped } from "./chatGroups";

const NOW = new Date(2026, 4, 20, 15, 0).getTime();
const chat = (id: string, hours: number, workspace = "/home/me/notes") =>
  ({ id, workspace, updated_at: new Date(NOW - hours * 3_600_000).toISOString() }) as Chat;
const told = (groups: ReturnType<typeof grouped>) =>
  groups.map(({ title, chats }) => [title, chats.map(({ id }) => id)]);

// proves UI-9
it("groups chats by the day of their last change, in their order", () => {
  const chats = [chat("a", 1), chat("b", 14), chat("c", 16), chat("d", 72), chat("e", 24 * 40)];
  expect(told(grouped(chats, "date", NOW))).toEqual([
    ["Today", ["a", "b"]],
    ["Yesterday", ["c"]],
    ["Last 7 days", ["d"]],
    ["Older", ["e"]],
  ]);
});

// proves UI-9
it("groups chats by their folder", () => {
  const chats = [chat("a", 1), chat("b", 2, "/srv/app"), chat("c", 3)];
  expect(told(grouped(chats, "workspace", NOW))).toEqual([
    ["me/notes", ["a", "c"]],
    ["srv/app", ["b"]],
  ]);
});
