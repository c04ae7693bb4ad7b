import { expect, it } from "vitest";
import { readDiff } from "./diffs";

it("numbers lines on both sides and counts them", () => {
  const diff = readDiff(
    "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ def f\n keep\n-old\n+new\n--- not a header\n\\ No newline at end of file\n",
  );
  expect(diff).toMatchObject({ added: 1, removed: 2 });
  expect(diff.files[0]!.lines.filter(({ kind }) => kind === "same" || kind === "added")).toEqual([
    { kind: "same", text: "keep", before: 3, after: 3 },
    { kind: "added", text: "new", before: null, after: 4 },
  ]);
});

it("keeps files apart, and counts no header as a changed line", () => {
  const made = (name: string) => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,2 @@\n+one\n+two\n`;
  const gone = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-only\n";
  const diff = readDiff(made("a.txt") + made("b/c.txt") + gone);
  expect(diff.files.map(({ path, added, removed }) => [path, added, removed])).toEqual([
    ["a.txt", 2, 0],
    ["b/c.txt", 2, 0],
    ["old.txt", 0, 1],
  ]);
  expect(diff).toMatchObject({ added: 4, removed: 1 });
});

it("tells of what has no lines: other names, contents that cannot be compared, an end that was cut", () => {
  const diff = readDiff(
    "rename from a.txt\nrename to b.txt\n--- a/x.png\n+++ b/x.png\nBinary content differs (1 → 2 bytes).\n--- a/y\n+++ b/y\n@@ -1,9 +1,9 @@\n keep\n… the diff goes on: 4 additions.\n",
  );
  expect(diff.files.map(({ path }) => path)).toEqual(["a.txt → b.txt", "x.png", "y"]);
  expect(diff.files[1]!.lines).toEqual([{ kind: "note", text: "Binary content differs (1 → 2 bytes)." }]);
  expect(diff.files[2]!.lines.at(-1)).toEqual({ kind: "note", text: "… the diff goes on: 4 additions." });
});

it("says what the server left out, and of no file", () => {
  const diff = readDiff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n… and 3 more changed paths.\n");
  expect(diff.rest).toBe("… and 3 more changed paths.");
  expect(diff.files[0]!.lines).toHaveLength(3);
});

it("reads anything without failing", () => {
  expect(readDiff("not a diff at all").files).toEqual([]);
});
