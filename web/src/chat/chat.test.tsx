import { act, fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { useTypedText } from "../composer/typedText";
import { composer } from "../testing/composer";
import { expectAccessible, show } from "../testing/render";
import type { Chat } from "../wire/nouns";
import { Composer } from "./Composer";
import { ChatLine } from "./Sidebar";
import { StateMark } from "./StateMark";

beforeEach(() => localStorage.clear());

it("sends with Enter, makes a line with Shift+Enter", async () => {
  const { field, onSend } = composer();
  await userEvent.type(field, "one{Shift>}{Enter}{/Shift}two{Enter}");
  expect(onSend).toHaveBeenCalledWith("one\ntwo", [], []);
  expect(field.value).toBe("");
});

const STATES = ["idle", "running", "awaiting_approval", "awaiting_answer"] as const;

// proves UI-15/1
it.each(STATES)("takes every letter that no field takes while %s, and none that is an order", (state) => {
  const typed = (key: string, on: Element = document.body) => {
    (document.activeElement as HTMLElement).blur();
    fireEvent.keyDown(on, { key });
    return document.activeElement === screen.getByLabelText("Message");
  };
  composer({ state });
  show(<TypedText />);
  for (const key of "hyYnNsa7ß.") expect([key, typed(key)]).toEqual([key, true]);
  for (const key of [" ", "?", "Tab", "Escape"]) expect([key, typed(key)]).toEqual([key, false]);
  expect(typed("y", screen.getByRole("button", { name: "Workflows" }))).toBe(true);
});

// proves UI-15/1
it("leaves what is typed in the file editor, which stands in a shadow root, to it", () => {
  composer();
  show(<TypedText />);
  const frame = document.body.appendChild(document.createElement("div"));
  const editor = frame.attachShadow({ mode: "open" }).appendChild(document.createElement("textarea"));
  for (const key of "#y/") {
    editor.focus();
    fireEvent.keyDown(editor, { key, composed: true });
    expect([key, document.activeElement]).toEqual([key, frame]);
  }
  frame.remove();
});

// proves UI-15/1
it("lets the rest of a sentence press no button where there is no message field", () => {
  const press = vi.fn();
  show(
    <>
      <TypedText />
      <button type="button" onKeyDown={press}>
        Restore
      </button>
    </>,
  );
  const button = screen.getByRole("button", { name: "Restore" });
  fireEvent.keyDown(button, { key: "y" });
  for (const key of [" ", "Enter"]) expect(fireEvent.keyDown(button, { key })).toBe(false);
  expect(press).toHaveBeenCalledOnce(); // by the letter
});

// proves UI-15/1
it("has the focus when a chat opens and nothing else has it", () => {
  const { field, unmount } = composer();
  expect(document.activeElement).toBe(field);
  unmount();
  show(<input aria-label="Search" autoFocus />);
  composer();
  expect(document.activeElement).toBe(screen.getByLabelText("Search"));
});

function TypedText() {
  useTypedText();
  return null;
}

it("keeps and queues what is typed before the answer to a sent message is there", async () => {
  let arrive = (_: boolean) => {};
  const onSend = vi.fn(() => new Promise<boolean>((resolve) => (arrive = resolve)));
  const { field, onQueue, rerender, onStop, onCommand } = composer({ onSend });
  const typed = userEvent.setup();
  await typed.type(field, "first{Enter}");
  const more = { onSend, onQueue, onStop, onCommand };
  rerender(<Composer chatId="chat" state="running" placeholder="" sent={[]} images={false} {...more} />);
  await typed.clear(field);
  await typed.type(field, "second");
  await act(async () => arrive(true));
  expect(field.value).toBe("second");
  await typed.type(field, "{Enter}");
  expect(onQueue).toHaveBeenCalledWith("second", "idle");
  expect(field.value).toBe("");
  expect(onSend).toHaveBeenCalledTimes(1);
});

it("sends nothing while an input method composes", () => {
  const { field, onSend } = composer();
  fireEvent.change(field, { target: { value: "に" } });
  fireEvent.keyDown(field, { key: "Enter", isComposing: true });
  expect(onSend).not.toHaveBeenCalled();
});

it("keeps what was not sent, per chat", async () => {
  const first = composer();
  await userEvent.type(first.field, "half a thought");
  first.unmount();
  expect(composer({ chatId: "other" }).field.value).toBe("");
  document.body.innerHTML = "";
  expect(composer().field.value).toBe("half a thought");
});

it("brings back the last message with the arrow key", async () => {
  const { field } = composer({ sent: ["the first one", "the last one"] });
  await userEvent.type(field, "{ArrowUp}");
  expect(field.value).toBe("the last one");
  await userEvent.type(field, "{ArrowUp}{ArrowUp}");
  expect(field.value).toBe("the first one");
  await userEvent.type(field, "{ArrowDown}{ArrowDown}");
  expect(field.value).toBe("");
});

it("leaves the arrow keys to words of one's own", async () => {
  const { field } = composer();
  await userEvent.type(field, "mine{ArrowUp}");
  expect(field.value).toBe("mine");
});

it.each(["running", "awaiting_approval", "awaiting_answer"] as const)("has stop in reach while %s", async (state) => {
  const { onStop, container } = composer({ state });
  await userEvent.click(screen.getByRole("button", { name: /Stop/ }));
  expect(onStop).toHaveBeenCalledOnce();
  await expectAccessible(container);
});

it("queues with Enter and steers with Ctrl+Enter while the agent works", async () => {
  const { field, onSend, onQueue, container } = composer({ state: "running" });
  await userEvent.type(field, "next{Enter}");
  await userEvent.type(field, "not that{Control>}{Enter}{/Control}");
  await userEvent.type(field, "by hand");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Queue" }));
  expect(onQueue.mock.calls).toEqual([
    ["next", "idle"],
    ["not that", "now"],
    ["by hand", "idle"],
  ]);
  expect(onSend).not.toHaveBeenCalled();
  expect(field.value).toBe("");
});

it("marks what waits differently from what runs", () => {
  const words = (["awaiting_approval", "awaiting_answer", "running", "idle"] as const).map((state) =>
    show(<StateMark state={state} />).container.textContent?.trim(),
  );
  expect(words).toEqual(["approve", "answer", "working", ""]);
});

it.each([
  ["member", true],
  ["viewer", false],
] as const)("lets the age of a chat make way only for a menu that is there: %s", (access, hasMenu) => {
  const chat = { id: "c", title: "Notes", state: "idle", config: {}, updated_at: new Date().toISOString() };
  show(<ChatLine chat={chat as Chat} current={false} onOpen={() => undefined} />, access);
  const age = screen.getByText("Notes").nextElementSibling!;
  expect(age.textContent).not.toBe("");
  expect(age.className.includes("group-hover:opacity-0")).toBe(hasMenu);
  expect(screen.queryByRole("button", { name: "More about Notes" }) !== null).toBe(hasMenu);
});
