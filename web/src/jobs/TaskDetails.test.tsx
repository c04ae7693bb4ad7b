import { screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import type { Task } from "./jobs";
import { TaskDetails } from "./TaskDetails";

const details = (parts: Partial<Task>) => (
  <TaskDetails
    task={
      { id: "1", description: "Task 1", dependencies: [], status: "pending", attempt: 1, ...parts } as unknown as Task
    }
    view={null}
    waits={false}
    href={(id) => `#${id}`}
    nameOf={(id) => `Task ${id}`}
    onRetry={null}
    undo={null}
    onClose={() => undefined}
  />
);

it("names the machine that has a task, and what a waiting one needs", async () => {
  const workers = [{ id: "w1", host: "build-box" }];
  const answer = async () => ({ data: { workers }, response: new Response() });
  vi.spyOn(api, "GET").mockImplementation(answer as unknown as typeof api.GET);
  const { container, rerender } = show(details({ worker: "w1" }));
  expect(await screen.findByText("build-box")).toBeTruthy();
  rerender(details({ worker: "gone" }));
  expect(screen.getByText("gone")).toBeTruthy();
  rerender(details({ waiting_for: "a worker that offers gpu" }));
  expect(screen.getByText("a worker that offers gpu")).toBeTruthy();
  await expectAccessible(container);
});
