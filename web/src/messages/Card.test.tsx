import { act, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import { type Message, readPlan } from "../wire/nouns";
import { Card } from "./Card";

const card = (parts: Partial<Message>) =>
  show(
    <Card
      message={message(parts)}
      thought={null}
      plan={{ state: "open", approved: null }}
      question={{ state: "open" }}
      run={null}
      busy={false}
      onExecute={() => {}}
      onAnswer={() => {}}
      onRevise={() => {}}
      onCompare={null}
    />,
  );

// proves UI-2/10
it.each(["hologram", undefined, null])("shows a message of type %s as text", (type) => {
  card({ message_type: type as never, content: "still here" });
  expect(screen.getByText("still here")).toBeTruthy();
});

it.each(["plan", "question", "review", "tool_result", "tool_call"] as const)(
  "shows a %s whose payload is broken as text",
  (type) => {
    card({ message_type: type, content: "what the model wrote", payload: { steps: "none" } as never });
    expect(screen.getByText("what the model wrote")).toBeTruthy();
  },
);

it("shows a plan as a plan and a question as a question", () => {
  card({ message_type: "plan", payload: { goal: "Go", steps: [{ action: "First" }] } as never });
  card({ message_type: "question", payload: { question: "Why?", options: [] } as never });
  expect(screen.getByLabelText("Plan")).toBeTruthy();
  expect(screen.getByLabelText("Question")).toBeTruthy();
});

it("lets a conversation have two plans, questions and reviews: a card is no landmark of the page", async () => {
  for (const _ of [1, 2]) {
    card({ message_type: "plan", payload: { goal: "Go", steps: [{ action: "First" }] } as never });
    card({ message_type: "question", payload: { question: "Why?", options: [] } as never });
    card({ message_type: "review", payload: { summary: "Fine.", findings: [] } as never });
  }
  expect(screen.getAllByLabelText("Review")).toHaveLength(2);
  expect(screen.queryAllByRole("region")).toEqual([]);
  await expectAccessible(document.body);
});

it("shows an approved plan as it was approved", () => {
  const approved = readPlan({ goal: "Go", steps: [{ action: "Second thoughts" }] });
  show(
    <Card
      message={message({ message_type: "plan", payload: { goal: "Go", steps: [{ action: "First" }] } as never })}
      thought={null}
      plan={{ state: "approved", approved }}
      question={{ state: "open" }}
      run={null}
      busy={false}
      onExecute={() => {}}
      onAnswer={() => {}}
      onRevise={() => {}}
      onCompare={null}
    />,
  );
  expect(screen.getByText("Second thoughts")).toBeTruthy();
  expect(screen.queryByText("First")).toBeNull();
});

it("says in one line that a plan was approved", () => {
  card({ role: "user", content: "Execute the approved plan …", payload: { plan_id: "p" } });
  expect(screen.getByText("You approved the plan")).toBeTruthy();
});

// proves UI-2/9
it("shows what the server says went wrong as an error", () => {
  card({
    role: "system",
    content: "The model does not answer.",
    payload: { error: { code: "provider_unreachable", message: "The model does not answer." } } as never,
  });
  expect(screen.getByText("The turn ended early")).toBeTruthy();
});

it("folds what a model was told about an unusable reply", () => {
  card({ role: "tool", message_type: "tool_result", payload: { tool_call_id: null, tool: "reply", status: "error" } });
  expect(screen.getByRole("button", { name: /could not be used/ })).toBeTruthy();
});

it("leaves what streamed in where it is when the answer is whole", () => {
  let whole = () => {};
  function Answer() {
    const [saying, setSaying] = useState<"speaking" | undefined>("speaking");
    whole = () => setSaying(undefined);
    const said = message({ content: "```mermaid\nflowchart LR\n  A --> B\n```\n\nThe end.", reasoning: "Hm." });
    return (
      <Card
        message={said}
        thought={1}
        saying={saying}
        plan={{ state: "open", approved: null }}
        question={{ state: "open" }}
        run={null}
        busy
        onExecute={() => {}}
        onAnswer={() => {}}
        onRevise={() => {}}
        onCompare={null}
      />
    );
  }
  show(<Answer />);
  expect(screen.queryByRole("button", { name: "Copy link" })).toBeNull();
  const [drawing, words] = [screen.getByTitle("Diagram"), screen.getByText("The end.")];
  act(() => whole());
  expect(screen.getByRole("button", { name: "Copy link" })).toBeTruthy();
  expect(screen.getByTitle("Diagram")).toBe(drawing);
  expect(screen.getByText("The end.")).toBe(words);
});
