import { fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import type { Evidence } from "../content/TurnEvidence";
import type { Job } from "../jobs/jobs";
import type { ChatView } from "../state/reduce";
import { restoreToUndo } from "../state/standing";
import { expectAccessible, message, show } from "../testing/render";
import type { Message } from "../wire/nouns";
import { changedSince, TurnChanges } from "./TurnChanges";

const did = (path: string): Message => {
  const diff = `--- a/${path}\n+++ b/${path}\n@@ -1 +1,2 @@\n-old\n+new\n+more\n`;
  return message({
    id: path,
    message_type: "tool_result",
    payload: { tool_call_id: path, tool: "update_file", status: "ok", diff } as never,
  });
};
const said = message({ id: "said", role: "user" });

it("counts what was changed since the person last spoke, each file once", () => {
  const { files, added, removed, rest } = changedSince([
    said,
    did("before.txt"),
    said,
    did("a.txt"),
    did("b.txt"),
    did("a.txt"),
  ]);
  expect([files.map(({ path }) => path), added, removed, rest]).toEqual([["a.txt", "b.txt"], 6, 3, ""]);
  expect(files[0]!.lines.filter(({ kind }) => kind === "hunk")).toHaveLength(2);
});

it("counts what every task of a job changed: what they are told is no word of the person", () => {
  const told = (task_id: string) => message({ id: task_id, role: "user", task_id });
  const { files } = changedSince([said, told("1"), did("a.txt"), told("2"), did("b.txt")]);
  expect(files.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
});

it("counts what a job changed only where it is in the workspace", () => {
  const done = ["a.txt", "b.txt"].map((path) => ({ ...did(path), job_id: "j", task_id: "1" }));
  const told = (job: object | undefined) => {
    const { container, unmount } = show(
      <TurnChanges messages={[said, ...done]} evidence={null} job={job as Job | undefined} onRestore={() => {}} />,
    );
    const text = container.textContent;
    unmount();
    return text;
  };
  const job = { id: "j", commit: "job", race: [], status: "awaiting_commit", left_out: [] };
  for (const waits of [
    undefined,
    job,
    { ...job, status: "cancelled" },
    { ...job, status: "completed", race: ["x", "y"] },
  ])
    expect(told(waits)).toBe("");
  expect(told({ ...job, status: "completed" })).toContain("2 files");
  expect(told({ ...job, status: "completed", left_out: ["b.txt"] })).toContain("1 file");
  expect(told({ ...job, commit: "task", status: "running" })).toContain("2 files");
});

it("says that there is more where the turn began before what is loaded", () => {
  expect(changedSince([did("a.txt")]).rest).toContain("before the messages that are loaded");
});

it("names the first files, and leads to the way back", async () => {
  const look = vi.fn();
  const { container } = show(
    <TurnChanges
      messages={[said, ...["a", "b", "c", "d", "e"].map(did)]}
      evidence={null}
      job={null}
      onRestore={look}
    />,
  );
  expect(screen.getByText(/^5 files\s+changed$/)).toBeTruthy();
  expect(screen.getByRole("note").textContent).toContain("a, b, c and 2 more");
  await userEvent.click(screen.getByRole("button", { name: "Restore" }));
  expect(look).toHaveBeenCalledOnce();
  await expectAccessible(container);
});

it("says nothing where nothing was changed", () => {
  expect(
    show(<TurnChanges messages={[did("a.txt"), said, message()]} evidence={null} job={null} onRestore={() => {}} />)
      .container.textContent,
  ).toBe("");
});

it("is read file by file, by pointer or by key, and says how many were looked at", async () => {
  show(
    <TurnChanges
      messages={[said, ...["a.txt", "b.txt", "c.txt"].map(did)]}
      evidence={null}
      job={null}
      onRestore={() => {}}
    />,
  );
  await userEvent.click(screen.getByRole("button", { name: "Review" }));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.getByLabelText("Changes of a.txt")).toBeTruthy();
  await userEvent.click(dialog.getByRole("button", { name: "Next file" }));
  expect(dialog.getByLabelText("Changes of b.txt")).toBeTruthy();
  expect(dialog.getByText("2 of 3 reviewed")).toBeTruthy();
  fireEvent.keyDown(dialog.getByRole("listbox"), { key: "ArrowDown" });
  expect(dialog.getByLabelText("Changes of c.txt")).toBeTruthy();
  expect(dialog.getByText("All 3 reviewed")).toBeTruthy();
  await expectAccessible(document.body);
});

it("draws only some of 2,000 changed files, always the chosen one with its place, and goes to the last by key", async () => {
  const paths = Array.from({ length: 2_000 }, (_, at) => `${at}.txt`);
  show(<TurnChanges messages={[said, ...paths.map(did)]} evidence={null} job={null} onRestore={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: "Review" }));
  const dialog = within(await screen.findByRole("dialog"));
  const list = dialog.getByRole("listbox");
  for (const [key, path] of [
    ["End", "1999.txt"],
    ["Home", "0.txt"],
    ["ArrowDown", "1.txt"],
  ] as const) {
    fireEvent.keyDown(list, { key });
    expect(dialog.getByLabelText(`Changes of ${path}`)).toBeTruthy();
    const chosen = document.getElementById(list.getAttribute("aria-activedescendant") ?? "");
    expect(chosen?.textContent).toContain(path);
    expect(chosen?.getAttribute("aria-setsize")).toBe("2000");
    expect(chosen?.getAttribute("aria-posinset")).toBe(String(paths.indexOf(path) + 1));
  }
  expect(list.querySelectorAll("*").length).toBeLessThan(1_000);
  await expectAccessible(document.body);
});

const wentBack = (snapshot: string, undo: string, paths: { restored?: string[]; deleted?: string[] }): Message =>
  message({
    id: undo,
    role: "system",
    payload: { restore: { snapshot, undo_snapshot: undo, restored: [], deleted: [], ...paths } } as never,
  });

it("names no file that was put back, and names it again once that is undone", () => {
  const pathsOf = (...messages: Message[]) => changedSince([said, ...messages]).files.map(({ path }) => path);
  const back = wentBack("s1", "s2", { restored: ["a.txt"] });
  expect(pathsOf(did("a.txt"), did("b.txt"), back)).toEqual(["b.txt"]);
  expect(pathsOf(did("a.txt"), wentBack("s1", "s2", { deleted: ["a.txt"] }))).toEqual([]);
  expect(pathsOf(did("a.txt"), back, wentBack("s2", "s3", { restored: ["a.txt"] }))).toEqual(["a.txt"]);
  expect(pathsOf(did("a.txt"), back, did("a.txt"))).toEqual(["a.txt"]);
});

it("takes back the newest restore where nothing was said since", () => {
  const back = wentBack("s1", "s2", { restored: ["a.txt"] });
  const after = (state: "idle" | "running", ...messages: Message[]) =>
    restoreToUndo({ state, messages } as unknown as ChatView);
  expect(after("idle", said, did("a.txt"), back)).toEqual({ noteId: "s2", snapshot: "s2" });
  expect(after("idle", said, did("a.txt"), back, said)).toBeNull();
  expect(after("running", said, did("a.txt"), back)).toBeNull();
});

it("says no more what a turn claimed once all its changes were restored", () => {
  const evidence = { status: "claimed", expectations: [], checks: [], receipt: null } as never;
  const turn = (...messages: Message[]) =>
    show(<TurnChanges messages={[said, ...messages]} evidence={evidence} job={null} onRestore={() => {}} />).container
      .textContent;
  expect(turn(message())).toContain("Claimed");
  expect(turn(did("a.txt"), wentBack("s1", "s2", { deleted: ["a.txt"] }))).toBe("");
});

const folder = (path: string) => `--- /dev/null\n+++ b/${path}\nnothing → folder\n`;
const created = (path: string) => `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,1 @@\n+{}\n`;
const ran = (diff: string) =>
  message({
    id: "ran",
    message_type: "tool_result",
    payload: { tool_call_id: "ran", tool: "execute_command", status: "ok", diff } as never,
  });

it("counts files, not the folders that came with them; an empty folder stands for itself", () => {
  const diff = folder("made") + folder("made/deep") + created("made/deep/a.json") + folder("empty");
  expect(changedSince([said, ran(diff)]).files.map(({ path }) => path)).toEqual(["made/deep/a.json", "empty"]);
});

it("counts a removed folder as the files in it, also those whose lines were left out", () => {
  const gone = (path: string) => `--- a/${path}\n+++ /dev/null\n`;
  const removed = (path: string) => `${gone(path)}@@ -1,2 +0,0 @@\n-one\n-two\n`;
  const small = `${gone("docs")}folder → nothing\n${removed("docs/a.md")}${removed("docs/b.md")}`;
  const { container, unmount } = show(
    <TurnChanges messages={[said, ran(small)]} evidence={null} job={null} onRestore={() => {}} />,
  );
  expect(container.textContent).toMatch(/^2 files\s+changed\+0 −4docs\/a\.md, docs\/b\.md/);
  unmount();
  const large = `${gone("docs")}folder → nothing\nwith 1,200 more files in it:\n  docs/c.md\n${removed("docs/a.md")}`;
  show(<TurnChanges messages={[said, ran(large)]} evidence={null} job={null} onRestore={() => {}} />);
  expect(screen.getByRole("note").textContent).toMatch(/^1,201 files\s+changedat least \+0 −2.* and 1,199 more/);
});

it("does not count what git ignores as changed, and says how much that is", async () => {
  const result = ran(created("a.json") + folder("dist") + created("dist/out.js") + created("dist/in/b.js"));
  const generated = { ...result, payload: { ...(result.payload as object), facts: { ignored: ["dist"] } } as never };
  show(<TurnChanges messages={[said, generated]} evidence={null} job={null} onRestore={() => {}} />);
  expect(screen.getByRole("note").textContent).toMatch(/^1 file\s+changed\+1 −02 ignored by gita\.json/);
  await userEvent.click(screen.getByRole("button", { name: "Review" }));
  expect(within(await screen.findByRole("dialog")).getByText("1 of 3 reviewed")).toBeTruthy();
});

it("says that lines were left out of the count", () => {
  const left = "--- /dev/null\n+++ b/b.json\nnot drawn line by line: nothing → file of 12 bytes, sha256 0\n";
  const { container, unmount } = show(
    <TurnChanges messages={[said, ran(created("a.json") + left)]} evidence={null} job={null} onRestore={() => {}} />,
  );
  expect(container.textContent).toContain("at least +1 −0");
  unmount();
  show(<TurnChanges messages={[said, ran(created("a.json"))]} evidence={null} job={null} onRestore={() => {}} />);
  expect(screen.getByRole("note").textContent).not.toContain("at least");
});

it("does not call a turn claimed that ended with an error before anybody claimed anything", () => {
  const error = { code: "provider_bad_key", message: "The key was refused.", retryable: false };
  const failed = message({ role: "system", content: error.message, payload: { error } as never });
  const claimed = { status: "claimed", expectations: [], checks: [], receipt: null } as unknown as Evidence;
  const shown = (messages: Message[]) => {
    const { container, unmount } = show(
      <TurnChanges messages={[said, ...messages]} evidence={claimed} job={null} onRestore={() => {}} />,
    );
    const text = container.textContent;
    unmount();
    return text;
  };
  expect(shown([failed])).toBe("");
  expect(shown([message({ content: "Done." })])).toContain("Claimed");
  expect(shown([did("a.txt"), failed])).toContain("Claimed");
});
