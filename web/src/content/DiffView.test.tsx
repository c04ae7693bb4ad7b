import { fireEvent, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { DiffView } from "./DiffView";

const made = (name: string) => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,2 @@\n+first of ${name}\n+second\n`;
const many = (count: number) => Array.from({ length: count }, (_, at) => made(`file_${at}.txt`)).join("");

it("names the one file beside its lines", () => {
  show(<DiffView text={made("src/deep/name.txt")} />);
  expect(screen.getByText("src/deep/name.txt")).toBeTruthy();
  expect(screen.getByText("first of src/deep/name.txt")).toBeTruthy();
});

it("shows several files one by one", async () => {
  const { container } = show(<DiffView text={many(3)} />);
  expect(screen.getByText("3 files")).toBeTruthy();
  expect(screen.getByLabelText("6 lines added, 0 removed")).toBeTruthy();
  await expectAccessible(container);
});

it("opens the first of many files, and the others on demand", () => {
  const { container } = show(<DiffView text={many(200)} />);
  expect(container.querySelectorAll("*").length).toBeLessThan(1000);
  expect(screen.getByText("first of file_0.txt")).toBeTruthy();
  expect(screen.queryByText("first of file_25.txt")).toBeNull();
  fireEvent.click(screen.getByText("file_25.txt"));
  expect(screen.getByText("first of file_25.txt")).toBeTruthy();
  fireEvent.click(screen.getByText("Show all 200 files"));
  expect(screen.getByText("file_199.txt")).toBeTruthy();
});
