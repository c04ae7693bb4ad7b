import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { message, show } from "../testing/render";
import { NoteCard } from "./NoteCard";

const COUNTS = { restored: 0, deleted: 0, kept: 0, unkept: 0 };
const restored = (counts: Partial<typeof COUNTS>, more: object = {}) =>
  message({
    role: "system",
    content: "as the server said it",
    payload: { restore: { counts: { ...COUNTS, ...counts }, reasons: {}, left: 0, ...more } },
  });

it.each([
  [{ deleted: 1 }, {}, "1 file removed."],
  [{ restored: 3, deleted: 1 }, {}, "3 files restored, 1 removed."],
  [{ restored: 1 }, {}, "1 file restored."],
  [{}, {}, "every file is as it was then."],
  [{ restored: 2 }, { left: 4 }, "2 files restored, 4 not reached because it was stopped (restore again to go on)."],
  [{ restored: 2 }, { reasons: { "a.md": "Changed." } }, "2 files restored, 1 left unchanged (a.md: Changed)."],
])("says what a restore did as a person would: %j %j", (counts, more, words) => {
  show(<NoteCard message={restored(counts, more)} />);
  expect(screen.getByRole("note").textContent).toContain(`Files were restored to an earlier state: ${words}`);
});

it("shows the words of a restore that was recorded without counts", () => {
  show(<NoteCard message={message({ role: "system", content: "Went back.", payload: { restore: { left: 0 } } })} />);
  expect(screen.getByText("Went back.")).toBeTruthy();
});

it("says that the agent was stopped, and speaks of no person", () => {
  show(<NoteCard message={message({ role: "system", content: "Stopped by the person." })} />);
  expect(screen.getByText("The agent was stopped.")).toBeTruthy();
});
