import { fireEvent, screen, waitFor } from "@testing-library/react";
import { expect, it, vi } from "vitest";
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

const CODE = `--- a/a.py
+++ b/a.py
@@ -1,3 +1,4 @@
 import os
-x = "old"
-y = 1
+x = "new"
+y = 2
+z = 3
`;

it("colours code in a difference, and keeps its text", async () => {
  const { container } = show(<DiffView text={CODE} />);
  await waitFor(() => expect(container.querySelector(".bg-removed .hljs-string")?.textContent).toBe('"old"'));
  expect(container.querySelector(".bg-added .hljs-string")?.textContent).toBe('"new"');
  expect(container.querySelector(".hljs-keyword")?.textContent).toBe("import");
  expect([...container.querySelectorAll(".bg-added")].map((line) => line.textContent)).toEqual([
    '2+x = "new"',
    "3+y = 2",
    "4+z = 3",
  ]);
});

it("draws old and new side by side where there is room, and remembers it", async () => {
  const width = vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(640);
  const { container, unmount } = show(<DiffView text={CODE} />);
  fireEvent.click(screen.getByRole("button", { name: "Old and new side by side" }));
  const rows = () =>
    [...container.querySelectorAll(".grid-cols-2")].map(({ children }) =>
      [...children].map((side) => side.textContent),
    );
  expect(rows()).toEqual([
    ["1 import os", "1 import os"],
    ['2−x = "old"', '2+x = "new"'],
    ["3−y = 1", "3+y = 2"],
    ["", "4+z = 3"],
  ]);
  await expectAccessible(container);
  unmount();
  expect(localStorage.getItem("anycowork.diff")).toBe("split");
  width.mockReturnValue(639);
  expect(show(<DiffView text={CODE} />).container.querySelector(".grid-cols-2")).toBeNull(); // no room
  width.mockRestore();
  localStorage.clear();
});

it("colours each hunk by itself: a bracket that one leaves open changes nothing in the next", async () => {
  const hunks =
    "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n def one(\n+    number,\n@@ -9 +10,2 @@\n def two():\n+    pass\n";
  show(<DiffView text={hunks} />);
  await waitFor(() => expect(screen.getByText("two").className).toContain("title"));
});
