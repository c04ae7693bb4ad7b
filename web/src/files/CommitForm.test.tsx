import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { show } from "../testing/render";
import { CommitForm } from "./CommitForm";
import type { GitState } from "./gitActs";

const state = (proposed_message: string, files: [string, string | null][]) =>
  ({
    proposed_message,
    head: "h",
    complete: true,
    identity: { name: "Ann", email: "ann@example.org" },
    hooks_not_run: [],
    hooks_run: [],
    hooks_offered: false,
    operation: null,
    files: files.map(([path, why]) => ({
      path,
      shown: path,
      status: "modified",
      protected: why,
      preselected: !why,
      file_count: null,
      file_count_complete: true,
    })),
  }) as unknown as GitState;

it("keeps a typed message and what was chosen when the files change, and chooses no new file with secrets", async () => {
  const user = userEvent.setup();
  const { rerender } = show(<CommitForm chatId="c" state={state("Change a", [["a", null]])} />);
  const message = screen.getByRole("textbox") as HTMLTextAreaElement;
  expect(message.value).toBe("Change a");
  await user.clear(message);
  await user.type(message, "My own words");
  await user.click(screen.getByRole("checkbox", { name: /^Include/ }));
  rerender(
    <CommitForm
      chatId="c"
      state={state("Change 3", [
        ["a", null],
        ["b", null],
        [".env", "key_file"],
      ])}
    />,
  );
  expect(message.value).toBe("My own words");
  const boxes = screen.getAllByRole<HTMLInputElement>("checkbox", { name: /^Include/ });
  expect(boxes.map(({ checked }) => checked)).toEqual([false, true, false]);
  expect(screen.getAllByRole("img", { name: "May hold keys or passwords" })).toHaveLength(1);
});

it("leaves an untracked folder out until it is chosen, and counts the files in it", async () => {
  const user = userEvent.setup();
  const changed = state("Change a", [["a", null]]);
  const folder = { path: "logs/", shown: "logs/", status: "untracked", protected: null, preselected: false };
  const small = { ...folder, file_count: 3, file_count_complete: true };
  const large = { ...folder, path: "big/", shown: "big/", file_count: 1000, file_count_complete: false };
  show(<CommitForm chatId="c" state={{ ...changed, files: [...changed.files, small, large] } as GitState} />);
  const commits = () => screen.getByRole("button", { name: /^Commit / }).textContent;
  expect(commits()).toBe("Commit 1 file");
  expect(screen.getByRole("button", { name: /logs\// }).textContent).toContain("3 files");
  await user.click(screen.getByRole("checkbox", { name: /logs\// }));
  expect(commits()).toBe("Commit 4 files");
  await user.click(screen.getByRole("checkbox", { name: /big\// }));
  expect(commits()).toBe("Commit 1,004+ files");
});

it("keeps message and button in reach below many files, and chooses all or none at once, never secrets", async () => {
  const user = userEvent.setup();
  const names = Array.from({ length: 40 }, (_, at): [string, null] => [`item${at}.json`, null]);
  const { container } = show(<CommitForm chatId="c" state={state("Add", [[".env", "may hold secrets"], ...names])} />);
  const lines = () => container.querySelectorAll("li").length;
  const commit = container.querySelector<HTMLButtonElement>("button[type=submit]")!;
  expect([lines(), commit.textContent]).toEqual([30, "Commit 40 files"]);
  const all = screen.getByLabelText<HTMLInputElement>("All 41 files");
  await user.click(all);
  expect([commit.textContent, commit.disabled]).toEqual(["Commit 0 files", true]);
  await user.click(screen.getByLabelText("Include item3.json in the commit"));
  expect([commit.textContent, all.indeterminate]).toEqual(["Commit 1 file", true]);
  await user.click(all);
  expect(commit.textContent).toBe("Commit 40 files");
  await user.click(screen.getByText("Show 11 more of 41 files"));
  expect(lines()).toBe(41);
});

it("names who commits and the hooks that are not run", () => {
  const hooked = { ...state("Change a", [["a", null]]), hooks_not_run: ["pre-commit"] };
  const { container } = show(<CommitForm chatId="c" state={hooked} />);
  expect(container.textContent).toContain("Committed as Ann.");
  expect(container.textContent).toContain("not run here: pre-commit.");
});
