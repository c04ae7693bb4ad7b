import { expect, it } from "vitest";
import { readDiff } from "./diffs";

it("numbers lines on both sides and counts them", () => {
  const diff = readDiff("--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ def f\n keep\n-old\n+new\n--- not a header\n\\ No newline at end of file\n");
  expect(diff).toMatchObject({ added: 1, removed: 2 });
  expect(diff.lines.filter(({ kind }) => kind === "same" || kind === "added")).toEqual([
    { kind: "same", text: "keep", before: 3, after: 3 },
    { kind: "added", text: "new", before: null, after: 4 },
  ]);
});

it("reads anything without failing", () => {
  expect(readDiff("not a diff at all").lines).toEqual([]);
});
