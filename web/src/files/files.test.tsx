import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { languageOf } from "../content/languages";
import { PathLink } from "../content/PathLink";
import { useLive } from "../state/live";
import { pathInWorkspace, useFilesPane } from "../state/openFiles";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import type { Entry, Folder, NetChange } from "./acts";
import { commentWords, writeToComposer } from "./comment";
import { PullDialog, Stashes } from "./GitActions";
import { AheadAndBehind } from "./GitPane";
import { hunksOf, quoteOf } from "./hunks";
import { isKept, setKept } from "./kept";
import { foldersAbove, moveBy, ROOT, rowsOf } from "./tree";

const entry = (path: string, kind: Entry["kind"] = "file") =>
  ({ path, name: path.split("/").at(-1), kind, ignored: false, changed_by: null, protected: null }) as Entry;
const folder = (entries: Entry[], next: string | null = null, total = entries.length) => ({
  data: { path: "", entries, next, total } as Folder,
  isError: false,
});
const TREE = new Map([
  [ROOT, folder([entry("src", "folder"), entry("docs", "folder"), entry("a.txt")])],
  ["src", folder([entry("src/app.py"), entry("src/b.py")], "x", 900)],
]);
const DIFF = `--- a/f.txt
+++ b/f.txt
@@ -1,2 +1,2 @@
-one
+ONE
 two
@@ -9,2 +9,3 @@
 nine
+more
 ten
`;

beforeEach(() => useFilesPane.setState({ open: false, part: "files", path: null, line: null }));

// proves UI-10
it("draws the rows of open folders only, and says how many are left", () => {
  expect(rowsOf(TREE).map(({ key, depth }) => `${depth} ${key}`)).toEqual([
    "1 src",
    "2 src/app.py",
    "2 src/b.py",
    "2 src/…",
    "1 docs",
    "1 a.txt",
  ]);
  expect(rowsOf(TREE)[3]).toMatchObject({ kind: "more", left: 898 });
  expect(rowsOf(new Map([[ROOT, { isError: true }]]))[0]).toMatchObject({ kind: "fault" });
});

// proves UI-10
it("moves through the tree by key as trees do", () => {
  const rows = rowsOf(TREE);
  expect(moveBy("ArrowDown", rows, 0)).toEqual({ to: 1 });
  expect(moveBy("ArrowLeft", rows, 2)).toEqual({ to: 0 });
  expect(moveBy("ArrowLeft", rows, 0)).toEqual({ close: "src" });
  expect(moveBy("ArrowRight", rows, 0)).toEqual({ to: 1 });
  expect(moveBy("ArrowRight", rows, 4)).toEqual({ open: "docs" });
  expect(moveBy("ArrowRight", rows, 5)).toBeNull();
  expect(moveBy("End", rows, 0)).toEqual({ to: 5 });
  expect(moveBy("b", rows, 0)).toEqual({ to: 2 });
  expect(moveBy("Enter", rows, 5)).toEqual({ choose: 5 });
});

it("knows the folders above a path and the language of a name", () => {
  expect(foldersAbove("a/b/c.txt")).toEqual(["a", "a/b"]);
  expect([languageOf("x/Main.TS"), languageOf("Makefile"), languageOf(".py")]).toEqual(["typescript", null, null]);
});

it("takes only what is a file of the workspace for a path", () => {
  expect(pathInWorkspace("/home/w/src/a.py", "/home/w")).toBe("src/a.py");
  expect(pathInWorkspace("./src/a.py", "/home/w")).toBe("src/a.py");
  for (const words of ["", ".", "src/**", "https://example.org/x", "two\nlines"])
    expect(pathInWorkspace(words, "/home/w")).toBeNull();
});

// proves UI-10
it("makes a path a way to the file where a chat is open, and only its words elsewhere", async () => {
  useLive.setState({ chatId: null, workspace: "" });
  const { rerender, container } = show(<PathLink path="src/a.py">src/a.py</PathLink>);
  expect(screen.queryByRole("button")).toBeNull();
  useLive.setState({ chatId: "c", workspace: "/w" });
  rerender(<PathLink path="src/a.py">src/a.py</PathLink>);
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "src/a.py" }));
  expect(useFilesPane.getState()).toMatchObject({ open: true, path: "src/a.py" });
  useLive.setState({ chatId: null, workspace: "" });
});

// proves UI-10
it("divides a difference into hunks with their place in the file as it is now", () => {
  const { hunks, notes } = hunksOf(DIFF);
  expect(hunks.map(({ number, place, added, removed }) => [number, place, added, removed])).toEqual([
    [0, [1, 1], 1, 1],
    [1, [10, 10], 1, 0],
  ]);
  expect(notes).toEqual([]);
  expect(quoteOf(hunks[0]!)).toEqual(["-one", "+ONE"]);
  expect(hunksOf("--- a/x\n+++ b/x\nBinary content differs (1 → 2 bytes).\n").hunks).toEqual([]);
});

it("remembers what was kept by what it says", () => {
  const [first, second] = hunksOf(DIFF).hunks;
  const change = { path: "f.txt", state: "s" } as NetChange;
  setKept("c", change, first!, true);
  expect([isKept("c", change, first!), isKept("c", change, second!)]).toEqual([true, false]);
  setKept("c", change, first!, false);
  expect(isKept("c", change, first!)).toBe(false);
});

// proves UI-10
it("puts the place and the lines of a comment into the composer, after what stands there", () => {
  expect(commentWords("a.py", [3, 5], ["+x"])).toBe("`a.py:3-5`\n```\n+x\n```\n");
  expect(commentWords("a.py", [3, 3], [])).toBe("`a.py:3`\n");
  const { container } = show(<textarea id="composer" aria-label="m" defaultValue="Look:" />);
  writeToComposer("`a.py`\n");
  expect(container.querySelector("textarea")?.value).toBe("Look:\n`a.py`\n");
});

it.each([
  [{ conflicts: [], new: true }, "Pulled from origin."],
  [{ conflicts: [], new: false }, "Nothing was new."],
  [{ conflicts: ["a.txt", "b.txt"], new: true }, "In conflict: a.txt, b.txt. Resolve the conflicts in the files."],
])("says what a pull brought: %j", async (result, words) => {
  const source = { remote: "origin", address: "/srv/theirs", refused: null };
  const answer = (data: object) => ({ data, response: new Response() });
  vi.spyOn(api, "GET").mockImplementation((async () =>
    answer({ branch: "main", head: "h", remotes: [source] })) as never);
  vi.spyOn(api, "POST").mockImplementation((async () => answer({ commit: "h", ...result })) as never);
  const close = vi.fn();
  show(<PullDialog chatId="c" onClose={close} />);
  await screen.findByText("/srv/theirs");
  await userEvent.click(screen.getByRole("button", { name: "Pull" }));
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
  expect(screen.getByText(words)).toBeTruthy();
  vi.restoreAllMocks();
});

it.each([
  [2, 0, "2 ahead"],
  [0, 1, "1 behind"],
  [2, 1, "2 ahead · 1 behind"],
  [0, 0, ""],
  [null, null, ""],
])("says how far a branch is ahead of its remote and behind: %s, %s", (ahead, behind, words) => {
  const { container } = show(<AheadAndBehind state={{ ahead, behind }} />);
  expect(container.textContent).toBe(words);
});

// proves UI-14/7
it("lists a stash that was saved before the first answer with the list arrived", async () => {
  const user = userEvent.setup();
  const stash = { number: 0, commit: "a".repeat(40), message: "On main: The rest" };
  const answer = (data: object) => ({ data, response: new Response() });
  let deliverFirst = (_: object) => {};
  const first = new Promise((resolve) => {
    deliverFirst = resolve;
  });
  const list = vi.spyOn(api, "GET").mockImplementation((async () => answer({ stashes: [stash] })) as never);
  list.mockImplementationOnce((() => first) as never);
  vi.spyOn(api, "POST").mockImplementation((async () => {
    setTimeout(() => deliverFirst(answer({ stashes: [] }))); // the old list comes last
    return answer({ commit: stash.commit });
  }) as never);
  show(<Stashes chatId="c" />);
  await user.click(screen.getByRole("button", { name: "Stashes" }));
  await user.type(screen.getByLabelText("What you put aside"), "The rest");
  await user.click(screen.getByRole("button", { name: "Stash" }));
  expect(await screen.findByRole("button", { name: "Apply On main: The rest" })).toBeTruthy();
  vi.restoreAllMocks();
});
