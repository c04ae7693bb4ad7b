import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { message, show } from "../testing/render";
import { TaskResultCard } from "./TaskResultCard";

// proves UI-2/8
it("is one line that opens to its words", async () => {
  show(<TaskResultCard message={message({ task_id: "7", content: "Tidy up\n\nand sweep" })} />);
  expect(screen.queryByText("and sweep")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /7/ }));
  expect(screen.getByText("and sweep")).toBeTruthy();
});

it("shows a worker's summary rather than its JSON", () => {
  const content = JSON.stringify({ status: "success", summary: "All swept" });
  const { container } = show(<TaskResultCard message={message({ task_id: "7", content })} />);
  expect(container.textContent).toContain("All swept");
  expect(container.textContent).not.toContain("status");
});

it("opens to words, too: the summary and the evidence, no JSON", async () => {
  const evidence = ["tests passed", { command: "make check", exit_code: 0 }];
  const content = JSON.stringify({ status: "failure", summary: "The disk is full", evidence });
  const { container } = show(<TaskResultCard message={message({ task_id: "7", content })} />);
  await userEvent.click(screen.getByRole("button", { name: /7/ }));
  const items = screen.getAllByRole("listitem").map(({ textContent }) => textContent);
  expect(items).toEqual(["tests passed", "command: make check, exit_code: 0"]);
  expect(container.textContent).not.toMatch(/[{}"]/);
});
