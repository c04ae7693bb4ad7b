import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { MessageTools } from "../messages/MessageTools";
import { useLive } from "../state/live";
import { expectAccessible, message, show } from "../testing/render";
import ForkDialog from "./ForkDialog";
import { askToFork, useForkWish } from "./opening";

const asked = vi.hoisted(() => ({ forkChat: vi.fn(), previewFork: vi.fn() }));
vi.mock("./acts", () => asked);
afterEach(() => {
  askToFork(null);
  useLive.setState({ view: null });
  vi.clearAllMocks();
});

// proves UI-7
it("sends an edited message in a new chat, with the files of then once every conflict was decided", async () => {
  asked.previewFork.mockResolvedValue({
    restored: ["a.txt"],
    deleted: [],
    conflicts: ["a.txt"],
    reasons: {},
    diff: "",
  });
  asked.forkChat.mockResolvedValue({ id: "new" });
  const wish = { kind: "edit", messageId: "m1", content: "make two" } as const;
  const { baseElement } = show(<ForkDialog chatId="chat" wish={wish} model="a/b" onClose={vi.fn()} />);
  const field = screen.getByLabelText("New message");
  await userEvent.clear(field);
  await userEvent.type(field, "make three");
  await userEvent.click(screen.getByLabelText("Restore the files as they were then"));
  await userEvent.click(await screen.findByLabelText("Overwrite a.txt"));
  await expectAccessible(baseElement);
  await userEvent.click(screen.getByRole("button", { name: "Send" }));
  const body = { message_id: "m1", files: "restore", overwrite: ["a.txt"], content: "make three" };
  expect(asked.forkChat).toHaveBeenCalledWith("chat", body);
  expect(location.hash).toBe("#/chat/new");
});

it("waits with the files until the person has decided about what someone else changed", async () => {
  asked.previewFork.mockResolvedValue({
    restored: ["a.txt"],
    deleted: [],
    conflicts: ["a.txt"],
    reasons: {},
    diff: "",
  });
  const wish = { kind: "fork", messageId: "m1", content: "" } as const;
  show(<ForkDialog chatId="chat" wish={wish} model={null} onClose={vi.fn()} />);
  await userEvent.click(screen.getByLabelText("Restore the files as they were then"));
  await screen.findByLabelText("Overwrite a.txt");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Fork" }).disabled).toBe(true);
});

// proves UI-7
it("copies the files of then into a new folder, without a preview", async () => {
  asked.forkChat.mockResolvedValue({ id: "copied" });
  const wish = { kind: "fork", messageId: "m1", content: "" } as const;
  const { baseElement } = show(<ForkDialog chatId="chat" wish={wish} model={null} onClose={vi.fn()} />);
  await userEvent.click(screen.getByLabelText("Copy the files as they were then into a new folder"));
  await screen.findByText(/Deleting the chat keeps the folder/);
  await expectAccessible(baseElement);
  await userEvent.click(screen.getByRole("button", { name: "Fork" }));
  expect(asked.forkChat).toHaveBeenCalledWith("chat", { message_id: "m1", files: "copy", overwrite: [] });
  expect(asked.previewFork).not.toHaveBeenCalled();
  expect(location.hash).toBe("#/chat/copied");
});

// proves UI-7
it("regenerates an answer from the request before it", async () => {
  const messages = [message({ id: "m0", role: "user", content: "ask" }), message({ id: "m1" })];
  useLive.setState({ view: { messages } as never });
  show(<MessageTools id="m1" text="Hello" />);
  await userEvent.click(screen.getByRole("button", { name: "Regenerate" }));
  expect(useForkWish.getState().wish).toEqual({ kind: "regenerate", messageId: "m0", content: "ask" });
});
