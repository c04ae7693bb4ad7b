import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { type ChatUsage, Details, Meter } from "./Meter";
import { costOf, money, short, tokensOf } from "./usage";

const used = (parts: Partial<ChatUsage["models"][number]> = {}) => ({
  model: "office/large",
  requests: 3,
  reserved: 0,
  prompt: 12_000,
  completion: 400,
  cached: 1000,
  reasoning: 0,
  estimated: false,
  cost: 0.04,
  ...parts,
});
const USAGE: ChatUsage = { models: [used()], window: 8000, context_tokens: 32_000, context_known: true };

it("shows tokens and cost, and how full the context is on one click", async () => {
  show(<Meter usage={USAGE} />);
  await userEvent.click(screen.getByRole("button", { name: "Used in this chat: 12k tokens, $0.04" }));
  expect(screen.getByText("25 %")).toBeTruthy();
  expect(screen.getByText("Cost so far: $0.04")).toBeTruthy();
});

it("shows nothing before anything was used, and no cost that nobody knows", async () => {
  const { container, rerender } = show(<Meter usage={{ ...USAGE, models: [] }} />);
  expect(container.textContent).toBe("");
  rerender(<Details usage={{ ...USAGE, models: [used(), used({ model: "elsewhere/x", cost: null })] }} />);
  expect(container.textContent).toContain("price of a model is not known");
  await expectAccessible(container);
});

it("sums up in short words", () => {
  expect(tokensOf(USAGE)).toBe(12_400);
  expect(costOf({ ...USAGE, models: [used(), used({ cost: null })] })).toBeNull();
  expect([short(999), short(1234), short(12_345), short(2_500_000)]).toEqual(["999", "1.2k", "12k", "2.5M"]);
  expect([money(0), money(0.001), money(1.5)]).toEqual(["$0.00", "< $0.01", "$1.50"]);
});

it("counts a request that was stopped before it told what it used", () => {
  const stopped: ChatUsage = { ...USAGE, models: [used({ prompt: 0, completion: 0, cached: 0, reserved: 900 })] };
  expect(tokensOf(stopped)).toBe(900);
  const { container } = show(<Details usage={stopped} />);
  expect(container.textContent).toContain("about 900 of stopped requests");
});
