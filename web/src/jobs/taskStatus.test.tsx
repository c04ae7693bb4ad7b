import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import { JobStatusMark } from "./JobStatusMark";
import { type Task, taskStatus } from "./jobs";

it("says of a task everywhere what a plan's step says: done only if something proved it", () => {
  const task = { id: "a", status: "completed", claimed: false, undone_by: null } as unknown as Task;
  expect(taskStatus(task, false)).toBe("completed");
  expect(taskStatus({ ...task, claimed: true }, false)).toBe("claimed");
  expect(taskStatus({ ...task, claimed: true, undone_by: "s1" } as Task, false)).toBe("undone");
  expect(taskStatus({ ...task, claimed: true, status: "running" } as Task, false)).toBe("running");
  show(<JobStatusMark status="claimed" />);
  expect(screen.getByText("the agent says it is done")).toBeTruthy();
});
