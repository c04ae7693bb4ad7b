import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import type { Run } from "../state/runs";
import { expectAccessible, message, show } from "../testing/render";
import { RunLine } from "../workflows/RunLine";
import { OrderCard, StepCard } from "./RunCards";

const RUN: Run = {
  run_id: "r",
  name: "create_project",
  step: 2,
  of: 4,
  status: "running",
  title: "Lay it out",
  error: null,
};
const line = () => screen.getByRole("note", { name: "Workflow" }).textContent;

it("shows under an order how far it is, and why it failed", async () => {
  const { container, unmount } = show(
    <OrderCard message={message({ role: "user", content: "/create_project clock" })} run={RUN} />,
  );
  expect(line()).toBe("create_project · step 2 of 4 · Lay it out · running");
  await expectAccessible(container);
  unmount();
  show(
    <OrderCard message={message({ role: "user" })} run={{ ...RUN, status: "failed", error: "There is no room." }} />,
  );
  expect(line()).toContain("failedThere is no room.");
});

it("says when a run waits for the person", () => {
  show(<RunLine run={RUN} waits />);
  expect(line()).toContain("waits for you");
});

it("folds the words of a step", async () => {
  show(<StepCard message={message({ role: "user", content: "Make the smallest project." })} run={RUN} />);
  expect(screen.queryByText("Make the smallest project.")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Step 2 of 4 · Lay it out" }));
  expect(screen.getByText("Make the smallest project.")).toBeTruthy();
});
