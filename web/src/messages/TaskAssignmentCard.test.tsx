import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { message, show } from "../testing/render";
import { TaskAssignmentCard } from "./TaskAssignmentCard";

it("names its task once, and shows code as code", () => {
  const { container } = show(
    <TaskAssignmentCard message={message({ task_id: "7", content: "Task 7: Tidy `a.txt`" })} />,
  );
  expect(container.querySelector("button")!.textContent).toMatch(/^Task 7Tidy a\.txt/);
});

// proves UI-2/8
it("is one line that opens to its words", async () => {
  show(<TaskAssignmentCard message={message({ task_id: "7", content: "Tidy up\n\nand sweep" })} />);
  expect(screen.queryByText("and sweep")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /7/ }));
  expect(screen.getByText("and sweep")).toBeTruthy();
});
