import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { expectAccessible, show, TOOLS } from "../testing/render";
import { Explanation } from "./Explain";
import { Foreseen } from "./Foreseen";
import { supposedParameters } from "./supposed";
import { keptWords, ruleWords } from "./words";

it.each([
  ["execute_command", "git  status", { command: "git  status" }],
  ["read_file", " notes/a.md ", { path: "notes/a.md" }],
  ["move_file", "a.md → old/a.md", { path: "a.md", to: "old/a.md" }],
  ["move_file", "a.md -> old/a.md", { path: "a.md", to: "old/a.md" }],
  ["create_file", "a.md", { path: "a.md", content: "" }],
  ["delete_file", '{"city": "Oslo"}', { city: "Oslo" }],
  ["grep", "src", { pattern: ".", path: "src" }],
  ["read_file", "{odd name", { path: "{odd name" }],
])("reads %s on %s as a call", (tool, subject, parameters) => {
  expect(supposedParameters(TOOLS[tool as keyof typeof TOOLS], subject)).toEqual(parameters);
});

it("says who decided and why", async () => {
  const rule = { tool: "update_file", resource: "/notes/*", effect: "deny" };
  const { container, rerender } = show(
    <Explanation told={{ effect: "deny", rule: rule as never, why: "A rule denies it." }} />,
  );
  expect(screen.getByRole("status").textContent).toContain(ruleWords(rule));
  await expectAccessible(container);
  rerender(<Explanation told={{ effect: "ask", rule: null, why: "Changing asks." }} />);
  expect(screen.getByRole("status").textContent).toContain("No rule matched.");
});

it("puts the calls that a rule would have changed first", () => {
  const call = (id: string, would: "ask" | "deny") => ({
    id,
    tool: "read_file",
    resource: `${id}.txt`,
    decided: "ask" as const,
    would,
  });
  show(
    <Foreseen
      preview={{
        calls: [call("same", "ask"), call("changed", "deny")],
        matched: 2,
        looked_at: 9,
        warnings: ["It matches much."],
      }}
    />,
  );
  expect(screen.getAllByRole("listitem")[0]?.textContent).toContain("changed.txt");
  expect(screen.getByRole("status").textContent).toContain("2 of the last 9 calls, 1 differently");
  expect(screen.getByText("It matches much.")).toBeTruthy();
});

it("says every rule that a decision made", () => {
  const run = { tool: "execute_command", resource: "curl *", effect: "allow" };
  const reach = { tool: "network", resource: "example.org:443", effect: "allow" };
  expect(keptWords([])).toBeNull();
  expect(keptWords([run])).toBe("Saved as a rule: allow execute_command on curl *.");
  expect(keptWords([run, reach])).toBe(
    "Saved as 2 rules: allow execute_command on curl *; allow network on example.org:443.",
  );
});
