import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { opened, reduceAll } from "../state/reduce";
import { event, expectAccessible, show } from "../testing/render";
import type { OpenChat } from "../wire/nouns";
import { QueuedMessages } from "./QueuedMessages";

const queued = (id: string, content: string, steer = false) => ({ id, content, steer, created_at: "" });

// proves UI-7
it("shows what waits, and lets it be changed, removed and sent now", async () => {
  const onChange = vi.fn(() => Promise.resolve(true));
  const [onRemove, onSendNow] = [vi.fn(), vi.fn()];
  const { container } = show(
    <QueuedMessages
      queue={[queued("q1", "first", true), queued("q2", "second")]}
      idle={false}
      onChange={onChange}
      onRemove={onRemove}
      onSendNow={onSendNow}
    />,
  );
  await expectAccessible(container);
  const [first, second] = screen.getAllByRole("listitem");
  expect(first!.textContent).toContain("Given to the agent after this step");
  expect(within(first!).queryByRole("button", { name: "Send now" })).toBeNull();
  await userEvent.click(within(second!).getByRole("button", { name: "Send now" }));
  expect(onSendNow).toHaveBeenCalledWith("q2");
  await userEvent.click(within(second!).getByRole("button", { name: "Edit" }));
  await userEvent.type(screen.getByLabelText("Queued message"), " thing");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(onChange).toHaveBeenCalledWith("q2", "second thing");
  await userEvent.click(within(first!).getByRole("button", { name: "Remove" }));
  expect(onRemove).toHaveBeenCalledWith("q1");
});

// proves UI-7
it("follows the queue through the events, what steers first", () => {
  const chat = {
    id: "chat",
    state: "running",
    config: { agent_role: "actor", autonomy: "ask" },
    waiting_for: { approvals: [], question: null, questions: [] },
    continuable: null,
    queue: [queued("q1", "one")],
  } as unknown as OpenChat;
  const told = (seq: number, id: string, status: string, parts = {}) =>
    event("queue-updated", seq, { queued: { ...queued(id, id), status, ...parts } });
  const before = opened(chat, [], [], 1);
  const queue = (...events: ReturnType<typeof told>[]) => reduceAll(before, events).queue.map(({ id }) => id);
  expect(queue(told(2, "q2", "queued"))).toEqual(["q1", "q2"]);
  expect(queue(told(2, "q3", "queued", { steer: true }))).toEqual(["q3", "q1"]);
  expect(queue(told(2, "q2", "queued"), told(3, "q1", "sent"))).toEqual(["q2"]);
  expect(queue(told(2, "q1", "removed"))).toEqual([]);
});
