import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { DayLimitsForm, type Limited, readAmounts, TodayList } from "./DayLimits";
import { OwnLimitsReport } from "./OwnLimits";

const NONE = { usd_per_day: null, tokens_per_day: null, jobs: null };
const ADA: Limited = {
  kind: "person",
  id: "p1",
  name: "Ada",
  limits: { ...NONE, usd_per_day: 5, jobs: 2 },
  used: { usd: 1.5, tokens: 1200, reserved: 0, jobs: 1, unpriced_requests: 0 },
};
const DESIGN: Limited = { ...ADA, kind: "group", id: "design", name: "design", limits: NONE };
const REPORT_END = "2026-11-20T00:00:00Z";
const REPORT = {
  day: "2026-11-19",
  ends_at: REPORT_END,
  person: { ...NONE, tokens_per_day: 7 },
  group: NONE,
  today: [ADA, DESIGN],
  changes: [],
} as never;

it("says of each what was used today, and of what", async () => {
  const { container } = show(<TodayList today={[ADA, DESIGN]} />);
  const lines = screen.getAllByRole("listitem").map(({ textContent }) => textContent);
  expect(lines[0]).toBe("Ada$1.50 of $5.00 · 1,200 tokens · 1 of 2 jobs");
  expect(lines[1]).toContain("Group design$1.50 · 1,200 tokens");
  await expectAccessible(container);
});

it("saves the limits of each, of one person and of a new group", async () => {
  const onSave = vi.fn(() => Promise.resolve());
  const { container } = show(<DayLimitsForm report={REPORT} onSave={onSave} />);
  await expectAccessible(container);
  expect(screen.getByLabelText<HTMLInputElement>("Tokens per day").value).toBe("7");
  await userEvent.type(screen.getByLabelText("Jobs at the same time"), "3{Enter}");
  expect(onSave).toHaveBeenLastCalledWith({ person: { tokens_per_day: 7, jobs: 3 } });
  await userEvent.selectOptions(screen.getByLabelText("Who"), "Ada");
  await userEvent.clear(screen.getByLabelText("US dollars per day"));
  await userEvent.click(screen.getByRole("button", { name: "Save limits" }));
  expect(onSave).toHaveBeenLastCalledWith({ person: { p1: { jobs: 2 } } });
  await userEvent.selectOptions(screen.getByLabelText("Who"), "A group by name");
  await userEvent.type(screen.getByLabelText("Name of the group"), "ops");
  await userEvent.type(screen.getByLabelText("US dollars per day"), "2.5{Enter}");
  expect(onSave).toHaveBeenLastCalledWith({ group: { ops: { usd_per_day: 2.5 } } });
});

it("takes no amount that cannot be meant", () => {
  expect(readAmounts({ usd_per_day: "", tokens_per_day: "0" })).toEqual({ tokens_per_day: 0 });
  for (const typed of ["-1", "1.5", "many"]) expect(readAmounts({ jobs: typed })).toBeNull();
});

it("shows a person their own limits, those of their groups, and what is used today", async () => {
  const empty = { ...ADA, limits: { ...NONE, tokens_per_day: 0 }, used: { ...ADA.used, unpriced_requests: 1 } };
  const { container } = show(
    <OwnLimitsReport today={[ADA, { ...DESIGN, ...empty, id: "design", kind: "group" }]} endsAt={REPORT_END} />,
  );
  const rows = (name: string) =>
    [...screen.getByRole("region", { name }).querySelectorAll("dl > div")].map(({ textContent }) => textContent);
  expect(rows("You")).toEqual([
    "US dollars today$1.50 of $5.00",
    "Tokens today1,200, no limit",
    "Jobs at the same time1 of 2",
  ]);
  expect(rows("Group Ada, all members together")[1]).toBe("Tokens today1,200 of 0");
  expect(screen.getByText("1 request counts in tokens only: nobody knows the price.")).toBeTruthy();
  expect(screen.getByText(/^The day ends at 00:00 UTC: .+ here\./)).toBeTruthy();
  await expectAccessible(container);
});
