import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { ChatView } from "../state/reduce";
import { expectAccessible, message, show } from "../testing/render";
import type { Message } from "../wire/nouns";
import { Hint } from "./Hint";

const asked = message({ id: "u", role: "user", content: "Count the words." });
const fault = message({
  id: "f",
  role: "system",
  content: "The model does not answer.",
  payload: { error: { code: "provider_unreachable", message: "The model does not answer." } } as never,
});

function hint(messages: Message[], more: Partial<ChatView> = {}) {
  const [onSwitch, onAgain] = [vi.fn(), vi.fn()];
  const shown = show(
    <Hint
      view={{ state: "idle", role: "planner", messages, ...more } as ChatView}
      busy={false}
      onSwitch={onSwitch}
      onAgain={onAgain}
    />,
  );
  return { ...shown, onSwitch, onAgain };
}

it.each([
  ["the owner", asked],
  ["a person with a name", message({ ...asked, payload: { author: "Ada" } as never })],
])("sends again what %s asked after a turn that failed", async (_, words) => {
  const { onAgain, container } = hint([words, fault]);
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(onAgain).toHaveBeenCalledWith("Count the words.");
});

it.each([
  ["the agent is at work", [asked, fault], { state: "running" }],
  ["the chat went on", [asked, fault, message({ id: "a" })], {}],
  [
    "an image was sent with it",
    [message({ ...asked, payload: { images: [{ name: "flag.png" }] } as never }), fault],
    {},
  ],
] as const)("offers nothing when %s", (_, messages, more) => {
  expect(hint([...messages], more).container.textContent).toBe("");
});

it("offers the switch after the role refused", async () => {
  const refused = message({
    id: "r",
    role: "tool",
    message_type: "tool_result",
    payload: { tool_call_id: "c", status: "refused", error: { code: "forbidden_by_role", message: "No." } } as never,
  });
  const { onSwitch } = hint([asked, refused]);
  await userEvent.click(screen.getByRole("button", { name: "Switch to Actor" }));
  expect(onSwitch).toHaveBeenCalledWith("actor");
});
