import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import { FindBar, matching } from "./FindBar";
import { fromTheMatch } from "./SearchResults";

const MESSAGES = [
  message({ id: "one", content: "Buy milk" }),
  message({ id: "two", content: "Bread" }),
  message({ id: "three", content: "no MILK today" }),
];

it("leads from match to match, newest first, and reads older messages", async () => {
  const onEarlier = vi.fn();
  const { container } = show(<FindBar chatId="chat" messages={MESSAGES} onEarlier={onEarlier} />);
  expect(screen.queryByRole("search")).toBeNull();
  fireEvent.keyDown(window, { key: "f", ctrlKey: true });
  const field = screen.getByLabelText("Find in this chat");
  await userEvent.type(field, "milk");
  expect(screen.getByRole("status").textContent).toBe("1 of 2");
  expect(location.hash).toBe("#/chat/chat/three");
  await userEvent.type(field, "{Enter}");
  expect(location.hash).toBe("#/chat/chat/one");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Search older messages too" }));
  expect(onEarlier).toHaveBeenCalledOnce();
  await userEvent.type(field, "x");
  expect(screen.getByRole("status").textContent).toBe("Not found");
  await userEvent.type(field, "{Escape}");
  expect(screen.queryByRole("search")).toBeNull();
});

it("finds what a call was given, and nothing for no words", () => {
  const call = message({ id: "call", content: "", payload: { parameters: { path: "notes/Plan.md" } } });
  expect(matching([call], "plan.md")).toEqual(["call"]);
  expect(matching([call], "  ")).toEqual([]);
});

it("shows the word that a search found in the first line of its snippet", () => {
  const parts = [
    { text: "…", match: false },
    { text: "approved plan, step by step, and say what was done. Write a ", match: false },
    { text: "packing", match: true },
    { text: " list", match: false },
  ];
  expect(fromTheMatch(parts).map(({ text }) => text)).toEqual(["…what was done. Write a ", "packing", " list"]);
  expect(fromTheMatch(parts.slice(2))).toEqual(parts.slice(2));
  expect(fromTheMatch(parts.slice(0, 2))).toEqual(parts.slice(0, 2)); // no match: as it came
});
