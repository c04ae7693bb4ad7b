import { expect, it } from "vitest";
import { readOrder, readReport } from "./talk";

it.each([
  null,
  7,
  "drawn",
  {},
  { is: "drawn" },
  { is: "drawn", height: "9" },
  { is: "drawn", height: Infinity },
  { is: "hacked" },
])("believes no report like %j", (said) => {
  expect(readReport(said)).toBeNull();
});

it("keeps what a frame says within bounds", () => {
  expect(readReport({ is: "drawn", height: 1e9 })).toEqual({ is: "drawn", height: 4000 });
  expect(readReport({ is: "drawn", height: -5 })).toEqual({ is: "drawn", height: 0 });
  expect(readReport({ is: "failed", reason: "x".repeat(9999) })).toEqual({ is: "failed", reason: "x".repeat(300) });
  expect(readReport({ is: "failed", reason: {} })).toEqual({ is: "failed", reason: "" });
});

it("draws nothing but words", () => {
  expect(readOrder({ draw: "graph LR", dark: true })).toEqual({ draw: "graph LR", dark: true });
  expect([readOrder({ draw: 1, dark: true }), readOrder({ draw: "x" }), readOrder(null)]).toEqual([null, null, null]);
});
