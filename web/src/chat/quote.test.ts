import { expect, it } from "vitest";
import { withoutName } from "../definitions/WorkflowEditor";
import { quoted } from "./QuoteSelection";

it("quotes each line, and leaves an empty one to write in", () => {
  expect(quoted("  one\r\n\r\n\r\n\r\ntwo \n")).toBe("> one\n>\n> two\n\n");
  expect(quoted("x".repeat(5_000))).toBe(`> ${"x".repeat(4_000)}…\n\n`);
});

it("takes the name out of a copied workflow, and no other line", () => {
  const text = '+++\nname = "a"\ndescription = "b"\n\n[[parameters]]\nname = "path"\n+++\n\n## Step\n\nname = "c"\n';
  expect(withoutName(text)).toBe(text.replace('name = "a"\n', ""));
});
