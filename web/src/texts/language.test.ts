import { expect, it } from "vitest";
import { decimal, dollars, number } from "./language";

const SOURCES = import.meta.glob<string>(["../**/*.ts", "../**/*.tsx"], {
  query: "?raw",
  import: "default",
  eager: true,
});

it("writes numbers, decimals and money as people of each language do", () => {
  expect([number(12_345.5, "en"), decimal(1.24, 1, "en"), decimal(3, 1, "en")]).toEqual(["12,345.5", "1.2", "3.0"]);
  expect([number(12_345.5, "de"), decimal(1.24, 1, "de"), decimal(3, 1, "de")]).toEqual(["12.345,5", "1,2", "3,0"]);
  expect([dollars(1.5, 2, "en"), dollars(0.0123, 4, "en")]).toEqual(["$1.50", "$0.0123"]);
  expect([dollars(1.5, 2, "de"), dollars(0.0123, 4, "de")]).toEqual(["1,50\u00a0$", "0,0123\u00a0$"]);
});

it("alone formats numbers and dates: whatever else does so forgets the page's language", () => {
  const formats = Object.entries(SOURCES)
    .filter(([path]) => !path.includes(".test.") && !path.startsWith("./"))
    .filter(([, source]) => /\.toLocale(Date|Time)?String\(|\.toFixed\(|\bIntl\./.test(source));
  expect(formats.map(([path]) => path)).toEqual([]);
});
