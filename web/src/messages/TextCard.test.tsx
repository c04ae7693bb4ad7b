import { act, screen } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import { TextCard } from "./TextCard";

afterEach(() => void vi.useRealTimers());

// proves UI-2/1
it("shows an agent's words with the badge of its role", async () => {
  const { container } = show(<TextCard message={message({ content: "All **done**." })} thought={null} />);
  expect(screen.getByText("Actor")).toBeTruthy();
  expect(screen.getByText("done").tagName).toBe("STRONG");
  await expectAccessible(container);
});

// proves UI-2/1
it("shows a person's words as they were written", () => {
  show(<TextCard message={message({ role: "user", content: "do **this**" })} thought={null} />);
  expect(screen.getByText("do **this**")).toBeTruthy();
});

it("keeps thinking apart and folded, with its duration", () => {
  show(<TextCard message={message({ reasoning: "secret thoughts" })} thought={6.2} />);
  expect(screen.getByRole("button", { name: "Thought for 6.2 s" }).getAttribute("aria-expanded")).toBe("false");
  expect(screen.queryByText("secret thoughts")).toBeNull();
});

it("counts the seconds of a thought that goes on", () => {
  vi.useFakeTimers({ now: 0 });
  show(<TextCard message={message({ id: "deep", reasoning: "hm" })} thought={null} saying="thinking" />);
  act(() => vi.advanceTimersByTime(12_000));
  expect(screen.getByRole("button", { name: "Thinking… · 12 s" })).toBeTruthy();
});

it("shows a plan whose steps wait for each other as steps, not as JSON", async () => {
  const steps = [
    { id: "a", action: "First", dependencies: ["b"] },
    { id: "b", action: "Second", dependencies: ["a"] },
    { id: "b", action: "Third" },
  ];
  const plan = JSON.stringify({ type: "plan", goal: "Go round", steps });
  for (const content of [plan, `\`\`\`json\n${plan}\n\`\`\``]) {
    const { container, unmount } = show(<TextCard message={message({ content })} thought={null} />);
    expect(screen.getByRole("group", { name: "Plan that cannot be used" }).textContent).toContain("Go round");
    expect(screen.getAllByRole("listitem")).toHaveLength(3);
    expect(screen.queryByText(/"type"/)).toBeNull();
    await expectAccessible(container);
    unmount();
  }
});

it.each(['{"type": "plan"}', '{"answer": 42}', '{"type": "plan", "steps": [', "Plain words."])(
  "leaves every other answer as it is: %s",
  (content) => {
    show(<TextCard message={message({ content })} thought={null} />);
    expect(screen.queryByRole("group", { name: "Plan that cannot be used" })).toBeNull();
  },
);
