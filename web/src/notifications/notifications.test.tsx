import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { noticeOf } from "./message";
import { TargetForm, TargetList } from "./Notifications";

const TARGET = {
  id: "t1",
  kind: "webhook",
  name: "Team bot",
  address: "https://example.org/hook",
  enabled: false,
  disabled: "It was gone.",
  failures: 10,
  last_sent_at: null,
  last_error: "It was gone.",
  created_at: "2026-01-02T03:04:05Z",
} as const;

it("lists a target with why it is off, and removes it by name", async () => {
  const onRemove = vi.fn();
  const { container } = show(<TargetList targets={[TARGET]} onChanged={vi.fn()} onRemove={onRemove} />);
  await expectAccessible(container);
  expect(screen.getByText("Turned off after failures: It was gone.")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Remove Webhook https://example.org/hook" }));
  expect(onRemove).toHaveBeenCalledWith(TARGET);
});

it("adds a webhook by keyboard, and an e-mail address by its kind", async () => {
  const onAdd = vi.fn(() => Promise.resolve());
  const { container } = show(<TargetForm onAdd={onAdd} />);
  await expectAccessible(container);
  await userEvent.type(screen.getByLabelText("Address"), "https://example.org/hook{Enter}");
  expect(onAdd).toHaveBeenCalledWith({ kind: "webhook", url: "https://example.org/hook" });
  await userEvent.selectOptions(screen.getByLabelText("Kind"), "email");
  await userEvent.type(screen.getByLabelText("Address"), "ada@example.org{Enter}");
  expect(onAdd).toHaveBeenLastCalledWith({ kind: "email", address: "ada@example.org" });
});

it("names the kind in the language of the page, and several by their number", () => {
  expect(noticeOf({ kind: "plan", count: 1, chat_id: "c-1" }, "en")).toEqual({
    body: "A plan waits for you.",
    tag: "c-1",
    hash: "#/chat/c-1",
  });
  expect(noticeOf({ kind: "plan", count: 3, chat_id: "c-1" }, "de").body).toBe("3 Entscheidungen warten auf Sie.");
});

it("leads to a chat of this page alone, whatever was pushed", () => {
  for (const chat_id of ["https://evil.example", "../x", "a/b", "", null, 7, "x".repeat(65)])
    expect(noticeOf({ kind: "plan", chat_id, url: "https://evil.example" }, null).hash).toBe("#/");
  expect(noticeOf(null, null)).toEqual({ body: "Something waits for you.", tag: "anycowork", hash: "#/" });
});
