import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { QuestionStanding } from "../state/standing";
import { expectAccessible, message, show } from "../testing/render";
import { readQuestion } from "../wire/nouns";
import { QuestionCard } from "./QuestionCard";

const QUESTION = readQuestion({
  question: "Which one?",
  severity: "critical",
  options: [
    { label: "The left", value: "left" },
    { label: "The right", value: "right" },
  ],
  default: "right",
  allow_custom: true,
})!;

function card(standing: QuestionStanding) {
  const onAnswer = vi.fn();
  return {
    ...show(<QuestionCard message={message()} question={QUESTION} standing={standing} onAnswer={onAnswer} />),
    onAnswer,
  };
}

it("shows both versions of a file that two changed, and the question without them", async () => {
  const asked = readQuestion({
    type: "question",
    question: "Which version should stay?\n\nThe task's version:\nmine",
    options: [],
    conflict: { path: "a.txt", task: "mine\n", workspace: null, reason: "", state: "" },
  })!;
  const { container } = show(
    <QuestionCard message={message()} question={asked} standing={{ state: "open" }} onAnswer={() => {}} />,
  );
  expect(screen.getByText("Which version should stay?")).toBeTruthy();
  expect(screen.getByLabelText("The task's version").textContent).toBe("mine\n");
  expect(screen.getByLabelText("The version that is there now").textContent).toBe("(there is no such file)");
  await expectAccessible(container);
});

it("takes a file that was merged by hand, once no mark is left in it", async () => {
  const asked = readQuestion({
    type: "question",
    question: "Which version should stay?",
    options: [
      { label: "Keep the task's version", value: "task" },
      { label: "Merge by hand", value: "merge" },
    ],
    conflict: {
      path: "a.txt",
      task: "mine\n",
      workspace: "yours\n",
      draft: "<<<<<<< the task\nmine\n=======\nyours\n>>>>>>> there now\n",
    },
  })!;
  const onAnswer = vi.fn();
  const { container } = show(
    <QuestionCard message={message()} question={asked} standing={{ state: "open" }} onAnswer={onAnswer} />,
  );
  await userEvent.click(screen.getByRole("button", { name: "Merge by hand" }));
  const keep = screen.getByRole<HTMLButtonElement>("button", { name: "Keep the merged file" });
  expect(keep.disabled).toBe(true);
  const editor = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "a.txt as it should be" });
  expect(editor.value).toContain("mine\n=======\nyours");
  await userEvent.clear(editor);
  await userEvent.type(editor, "ours");
  await expectAccessible(container);
  await userEvent.click(keep);
  expect(onAnswer).toHaveBeenCalledWith({ value: "merge", content: "ours" });
});

it("writes out what hides in an option", () => {
  show(
    <QuestionCard
      message={message()}
      question={
        readQuestion({ type: "question", question: "a\u202Eb?", options: [{ label: "ye\u200Bs", value: "y" }] })!
      }
      standing={{ state: "open" }}
      onAnswer={() => {}}
    />,
  );
  expect(screen.getByText("a⟨U+202E⟩b?")).toBeTruthy();
  expect(screen.getByText("ye⟨U+200B⟩s")).toBeTruthy();
});

// proves UI-2/3
it("offers its options, its default and own words", async () => {
  const { onAnswer, container } = card({ state: "open" });
  await expectAccessible(container);
  expect(screen.getByRole("button", { name: /The right/ }).textContent).toContain("suggested");
  await userEvent.click(screen.getByRole("button", { name: /The left/ }));
  await userEvent.type(screen.getByLabelText("Answer in your own words"), "Neither{Enter}");
  expect(onAnswer.mock.calls).toEqual([[{ value: "left" }], [{ custom: "Neither" }]]);
});

// proves UI-2/3
it("says its severity in words", () => {
  card({ state: "open" });
  expect(screen.getByText("Critical")).toBeTruthy();
});

it("shows the answer it got and takes no second one", () => {
  card({ state: "answered", answer: "The left" });
  expect(screen.getByText("You answered: The left")).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});

it("names who answered, where several people work", () => {
  const by = message({ role: "user", content: "The left", payload: { question_id: "m1", author: "Bob" } });
  card({ state: "answered", answer: "The left", by });
  expect(screen.getByText("Bob answered: The left")).toBeTruthy();
});

it("says that it was withdrawn", () => {
  card({ state: "withdrawn" });
  expect(screen.getByText(/Withdrawn/)).toBeTruthy();
});
