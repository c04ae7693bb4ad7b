import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { expectAccessible, message, show } from "../testing/render";
import { readReview } from "../wire/nouns";
import { ReviewCard } from "./ReviewCard";

// proves UI-2/6
it("lists findings with place, severity, problem and suggestion", async () => {
  const review = readReview({
    summary: "One thing.",
    findings: [{ path: "a.py", line: 3, severity: "major", problem: "Too clever", suggestion: "Say it plainly" }],
  })!;
  const { container } = show(<ReviewCard message={message()} review={review} />);
  for (const words of ["One thing.", "a.py:3", "Major", "Too clever", "→ Say it plainly"])
    expect(screen.getByText(words)).toBeTruthy();
  await expectAccessible(container);
});

it("says when there is nothing to find", () => {
  show(<ReviewCard message={message()} review={readReview({ summary: "Fine." })!} />);
  expect(screen.getByText("No findings.")).toBeTruthy();
});
