import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { Toaster } from "../ui/Toaster";
import { api } from "../wire/client";
import { CommitForm, type TurnedFiles } from "./CommitForm";
import { GitPane } from "./GitPane";
import type { GitState } from "./gitActs";

afterEach(() => vi.restoreAllMocks());

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

/** The form in a pane: a commit makes it anew. */
function Form({ chatId, state }: { chatId: string; state: GitState }) {
  const [turned, setTurned] = useState<TurnedFiles>({});
  return <CommitForm key={state.head} chatId={chatId} state={state} turned={turned} setTurned={setTurned} />;
}

// proves UI-14/5
it("leaves out after a commit what was left out of it", async () => {
  vi.spyOn(api, "POST").mockImplementation((async () => ({
    data: { commit: "n" },
    response: new Response(),
  })) as never);
  const user = userEvent.setup();
  const files: [string, null][] = [
    ["a", null],
    ["b", null],
  ];
  const { rerender } = show(<Form chatId="c" state={state("Change", files)} />);
  await user.click(screen.getByRole("checkbox", { name: "Include b in the commit" }));
  await user.click(screen.getByRole("button", { name: "Commit 1 file" }));
  await vi.waitFor(() => expect(api.POST).toHaveBeenCalledTimes(1));
  rerender(<Form chatId="c" state={{ ...state("Change", files), head: "n" }} />);
  const boxes = () => screen.getAllByRole<HTMLInputElement>("checkbox", { name: /^Include/ });
  await vi.waitFor(() => expect(boxes().map(({ checked }) => checked)).toEqual([true, false]));
});

it("keeps a typed message and what was chosen when the files change, and chooses no new file with secrets", async () => {
  const user = userEvent.setup();
  const { rerender } = show(<Form chatId="c" state={state("Change a", [["a", null]])} />);
  const message = screen.getByRole("textbox") as HTMLTextAreaElement;
  expect(message.value).toBe("Change a");
  await user.clear(message);
  await user.type(message, "My own words");
  await user.click(screen.getByRole("checkbox", { name: /^Include/ }));
  rerender(
    <Form
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
  show(<Form chatId="c" state={{ ...changed, files: [...changed.files, small, large] } as GitState} />);
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
  const { container } = show(<Form chatId="c" state={state("Add", [[".env", "may hold secrets"], ...names])} />);
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
  const { container } = show(<Form chatId="c" state={hooked} />);
  expect(container.textContent).toContain("You commit as Ann.");
  expect(container.textContent).toContain("not run here: pre-commit.");
});

it("says that the last commit is amended, and brings back the message from before", async () => {
  const last = { subject: "First", body: "Why." };
  vi.spyOn(api, "GET").mockImplementation((async () => ({ data: last, response: new Response() })) as never);
  const user = userEvent.setup();
  const { container } = show(<Form chatId="c" state={state("Change a", [["a", null]])} />);
  const commit = container.querySelector<HTMLButtonElement>("button[type=submit]")!;
  const message = screen.getByRole<HTMLTextAreaElement>("textbox");
  const amend = screen.getByRole("checkbox", { name: "Amend the last commit" });
  await user.click(amend);
  await vi.waitFor(() => expect(message.value).toBe("First\n\nWhy."));
  expect(commit.textContent).toBe("Amend the last commit");
  await user.click(amend);
  expect([message.value, commit.textContent]).toEqual(["Change a", "Commit 1 file"]);
  await user.type(message, " and b");
  await user.click(amend);
  await user.click(amend);
  expect(message.value).toBe("Change a and b");
});

it("offers nothing during a merge but to commit or cancel it", async () => {
  const merging = { ...state("", [["a", null]]), branch: "main", operation: "merge" };
  vi.spyOn(api, "GET").mockImplementation((async () => ({ data: merging, response: new Response() })) as never);
  const { container } = show(<GitPane chatId="c" />);
  await screen.findByText("A merge is in progress");
  const buttons = screen.getAllByRole("button").map(({ textContent }) => textContent);
  expect(buttons.slice(0, 2)).toEqual(["Commit the merge", "Cancel the merge"]);
  for (const refused of [/^Commit \d/, /^Switch/, /^New branch/, /^Pull/, /^Stash/])
    expect(buttons.filter((label) => refused.test(label ?? ""))).toEqual([]);
  expect(screen.getByRole("list", { name: "Files that differ from the last commit" }).textContent).toContain("a");
  expect([screen.queryByRole("checkbox"), screen.queryByRole("textbox")]).toEqual([null, null]);
  await expectAccessible(container);
});

it("says in plain words that a stash is applied", async () => {
  const stash = { number: 0, commit: "abc", message: "On main: Rest" };
  const still = { ...state("", []), branch: "main", reason: null };
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => ({
    data: path.endsWith("/stashes") ? { stashes: [stash] } : still,
    response: new Response(),
  })) as never);
  const applied = { commit: "abc", conflicts: [], new: true };
  vi.spyOn(api, "POST").mockImplementation((async () => ({ data: applied, response: new Response() })) as never);
  const user = userEvent.setup();
  show(
    <>
      <GitPane chatId="c" />
      <Toaster />
    </>,
  );
  await user.click(await screen.findByRole("button", { name: "Stashes" }));
  await user.click(await screen.findByRole("button", { name: "Apply On main: Rest" }));
  expect(await screen.findByText("The changes of the stash are in your files again.")).toBeTruthy();
});
