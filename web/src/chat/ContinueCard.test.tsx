import { fireEvent, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Card } from "../messages/Card";
import { continuable, opened, reduceAll } from "../state/reduce";
import { planInHand } from "../state/standing";
import { event, expectAccessible, message, show } from "../testing/render";
import type { Message, OpenChat } from "../wire/nouns";
import { ContinueCard } from "./ContinueCard";

const chat = {
  id: "chat",
  state: "running",
  config: { agent_role: "actor", autonomy: "ask" },
  waiting_for: { approvals: [], question: null, questions: [] },
  continuable: null,
} as unknown as OpenChat;

test("a turn that stopped is continued by a click or a key", async () => {
  const goOn = vi.fn();
  const { container } = show(
    <ContinueCard reason="limit" busy={false} onContinue={goOn} onCompact={() => {}} onDismiss={() => {}} />,
  );
  expect(screen.getByRole("button", { name: "Continue" }).textContent).toContain("Alt+C");
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  fireEvent.keyDown(window, { key: "c", code: "KeyC", altKey: true });
  expect(goOn).toHaveBeenCalledTimes(2);
  expect(container.innerHTML).not.toMatch(/\bbad\b|bg-bad/);
  await expectAccessible(container);
});

test("a full context offers both ways, and says so when it is opened later too", async () => {
  const [goOn, compact] = [vi.fn(), vi.fn()];
  const { container } = show(
    <ContinueCard reason="limit" full busy={false} onContinue={goOn} onCompact={compact} onDismiss={() => {}} />,
  );
  fireEvent.click(screen.getByRole("button", { name: "Compact" }));
  fireEvent.click(screen.getByRole("button", { name: "Continue" }));
  expect([goOn.mock.calls.length, compact.mock.calls.length]).toEqual([1, 1]);
  expect(container.innerHTML).not.toMatch(/\bbad\b|bg-bad/);
  await expectAccessible(container);
  const turn = { error: { code: "context_full", message: "…", retryable: false } };
  const watched = reduceAll(opened(chat, [], [], 0), [
    event("turn-ended", 1, { reason: "limit", state: "idle", turn }),
  ]);
  const stopped = { turn_id: "t1", reason: "limit", code: "context_full", message: "…" };
  const later = opened({ ...chat, state: "idle", continuable: stopped } as OpenChat, [], [], 5);
  expect([watched, later].map((view) => continuable(view)?.full)).toEqual([true, true]);
});

test.each([
  ["limit", "Dismiss"],
  ["blocked", "Drop plan"],
] as const)("what stopped by %s can be dropped, by a press alone", (reason, name) => {
  const drop = vi.fn();
  show(<ContinueCard reason={reason} busy={false} onContinue={() => {}} onCompact={() => {}} onDismiss={drop} />);
  fireEvent.keyDown(window, { key: "Escape" });
  expect(drop).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name }));
  expect(drop).toHaveBeenCalledOnce();
});

test.each(["limit", "interrupted", "blocked"] as const)(
  "after %s the view can be continued until it goes on",
  (reason) => {
    const ended = reduceAll(opened(chat, [], [], 0), [event("turn-ended", 1, { reason, state: "idle" })]);
    expect(continuable(ended)?.reason).toBe(reason);
    expect(continuable(reduceAll(ended, [event("turn-started", 2, { state: "running" })]))).toBeNull();
    expect(continuable(reduceAll(ended, [event("role-changed", 2, { role: { new_role: "planner" } })]))).toBeNull();
  },
);

test.each(["answered", "stopped", "failed"] as const)("after %s there is nothing to continue", (reason) => {
  expect(
    continuable(reduceAll(opened(chat, [], [], 0), [event("turn-ended", 1, { reason, state: "idle" })])),
  ).toBeNull();
});

test("a chat that is opened later says the same as one that was watched", () => {
  const later = opened(
    { ...chat, state: "idle", continuable: { turn_id: "t1", reason: "limit", message: "…" } } as OpenChat,
    [],
    [],
    5,
  );
  expect(continuable(later)?.reason).toBe("limit");
});

test("a plan that was dropped is no longer in hand, until the next message", () => {
  const request = message({ id: "r", role: "user", payload: { plan_id: "p" } as never });
  const dropped = message({ id: "d", role: "system", payload: { dismissed: "t1" } as never });
  const later = message({ id: "n", role: "user", payload: { plan_id: "q" } as never });
  const inHand = (...messages: Message[]) => planInHand(opened(chat, messages, [], 0));
  expect([inHand(request), inHand(request, dropped), inHand(request, dropped, later)]).toEqual(["p", null, "q"]);
});

test("a limit is a note, not an error", () => {
  const said = message({
    role: "system",
    content: "The turn was ended after 10 steps.",
    payload: { error: { code: "too_many_steps", message: "…", retryable: false } },
  });
  show(
    <Card
      message={said}
      thought={null}
      plan={{ state: "open", approved: null }}
      question={{ state: "withdrawn" }}
      run={null}
      busy={false}
      onExecute={() => {}}
      onAnswer={() => {}}
      onRevise={() => {}}
      onCompare={null}
    />,
  );
  expect(screen.getByRole("note").textContent).toContain("after 10 steps");
  expect(screen.queryByText("The turn ended early")).toBeNull();
});
