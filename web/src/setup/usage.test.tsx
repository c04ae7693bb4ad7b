import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { pageAt } from "./pages";
import { Plot, Sums } from "./UsageReport";
import { barsOf, daysBefore } from "./usageDays";

const used = {
  requests: 2,
  reserved: 0,
  prompt: 300,
  completion: 100,
  cached: 0,
  reasoning: 0,
  estimated: false,
  cost: 0.25,
  unpriced_requests: 0,
};

// proves UI-16/1
it("draws a bar for each day, those without use too", async () => {
  const bars = barsOf([{ key: "2026-11-03", ...used }], "2026-11-01", "2026-11-04");
  expect(bars.map(({ day, tokens }) => [day, tokens])).toEqual([
    ["2026-11-01", 0],
    ["2026-11-02", 0],
    ["2026-11-03", 400],
    ["2026-11-04", 0],
  ]);
  expect(bars[2]).toMatchObject({ prompt: 0.75, completion: 0.25 });
  const { container } = show(<Plot bars={bars} />);
  expect(screen.getByRole("img").getAttribute("aria-label")).toContain("400");
  expect(container.querySelectorAll("rect").length).toBe(8);
  expect(container.textContent).toContain("Read by models Written by modelsMost in a day: 400");
  await expectAccessible(container);
});

// proves UI-16/1
it("lists what was used, and calls a price that nobody knows unknown", async () => {
  const rows = [
    { key: "scripted/a", ...used },
    { key: "scripted/b", ...used, cost: null },
  ];
  const { container } = show(<Sums by="model" rows={rows} groups={30} total={used} />);
  expect(screen.getAllByRole("row").length).toBe(4);
  const cells = screen.getAllByRole("cell").map(({ textContent }) => textContent);
  expect(cells.slice(0, 3)).toEqual(["2", "400", "$0.25"]);
  expect(container.textContent).toContain("unknown");
  expect(container.textContent).toContain("The first 2 of 30.");
  await expectAccessible(container);
});

it("says that no job used anything where chats did", () => {
  const { container } = show(<Sums by="job" rows={[]} groups={0} total={used} />);
  expect(container.textContent).toBe("No job used anything in this period.");
});

it("keeps the bars of all time within bounds, and the address that the limits had", () => {
  expect(barsOf([{ key: "1970-01-01", ...used }], null, "2026-11-04").length).toBe(366);
  expect(barsOf([], null, "2026-11-04").length).toBe(1);
  expect(daysBefore(Date.parse("2026-03-01T00:00:00Z"), 1)).toBe("2026-02-28");
  expect(pageAt("limits").id).toBe("usage");
});
