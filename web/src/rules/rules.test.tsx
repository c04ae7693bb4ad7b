import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show, TOOLS } from "../testing/render";
import { api } from "../wire/client";
import { Explanation } from "./Explain";
import { Foreseen } from "./Foreseen";
import { RuleForm } from "./RuleForm";
import { ProposalLine } from "./Rules";
import { supposedParameters } from "./supposed";
import { keptWords, ruleWords, typedArguments } from "./words";

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
  const sentence = `The rule: ${ruleWords(rule, "change")}`;
  expect(screen.getByText(sentence).compareDocumentPosition(screen.getByText("A rule denies it."))).toBe(4); // it follows
  expect(screen.getByText("A rule denies it.").closest("details")?.open).toBe(false);
  await expectAccessible(container);
  rerender(<Explanation told={{ effect: "ask", rule: null, why: "Changing asks." }} />);
  expect(screen.getByRole("status").textContent).toContain("No rule matched.Changing asks.");
  rerender(<Explanation told={{ effect: "ask", rule: null, why: "No rule covers it, and 'execute_command' asks." }} />);
  expect(screen.getByRole("status").textContent).toContain("No rule matched.'execute_command' asks.");
  rerender(
    <Explanation told={{ effect: "ask", rule: null, why: "No rule covers it, and it is risky. It deletes." }} />,
  );
  expect(screen.getByRole("status").textContent).toContain("No rule matched.It is risky. It deletes.");
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
  const kindOf = (tool: string) => (tool === "execute_command" ? "run" : "other");
  expect(keptWords([], kindOf)).toBeNull();
  expect(keptWords([run], kindOf)).toBe("Saved as a rule: The agent may run commands that begin with “curl”.");
  expect(keptWords([run, reach], kindOf)).toBe(
    "Saved as 2 rules: The agent may run commands that begin with “curl”; The agent may connect to example.org:443.",
  );
});

it.each([
  ["allow", "create_file", "/*", "create", "The agent may create any file"],
  ["allow", "create_file", "/notes/*", "create", "The agent may create any file in notes"],
  ["deny", "update_file", "/a.txt", "change", "The agent may never change a.txt"],
  ["ask", "read_file", "/**/*.pem", "read", "The agent asks first, each time it wants to read what matches /**/*.pem"],
  ["allow", "execute_command", "git status", "run", "The agent may run “git status”"],
  ["allow", "*", "*", "other", "The agent may use any tool on anything"],
  [
    "allow",
    "raw__add",
    `mcp:raw/add#${"0a".repeat(20)}`,
    "other",
    "The agent may use add of the server raw with whatever arguments, as long as the tool stays as it is",
  ],
])("says %s %s %s as a sentence", (effect, tool, resource, kind, words) => {
  expect(ruleWords({ effect, tool, resource }, kind)).toBe(words);
});

it.each([
  [
    { fixed: { to: "ann", amount: 10 }, text: ["note"], open: ["fast", "*"] },
    'with to = "ann", amount = 10, any plain text in note, any fast, anything else',
  ],
  [{ fixed: {}, text: [], open: [] }, "without arguments"],
])("says which arguments a rule fixes", (given, words) => {
  const rule = { effect: "allow", tool: "raw__pay", resource: `mcp:raw/pay#${"0a".repeat(20)}`, arguments: given };
  expect(ruleWords(rule)).toBe(`The agent may use pay of the server raw ${words}, as long as the tool stays as it is`);
});

it.each([
  ["mcp:raw/pay#*", "allow", 'The agent may use pay of the server raw with to = "ann", any fast'],
  ["mcp:raw/pay", "deny", 'The agent may never use pay of the server raw with to = "ann", anything else'],
  [
    "mcp:raw/pay",
    "allow",
    'The agent may use pay of the server raw with to = "ann", any fast. It matches no call: end it with #* for each version of the tool',
  ],
  [
    "mcp:raw/*",
    "ask",
    'The agent asks first, each time it wants to use raw__* on what matches mcp:raw/* with to = "ann", anything else',
  ],
])("says of %s to %s what it is about", (resource, effect, words) => {
  const given = { fixed: { to: "ann" }, text: [], open: ["fast"] };
  expect(ruleWords({ effect, tool: resource.endsWith("/*") ? "raw__*" : "raw__pay", resource, arguments: given })).toBe(
    words,
  );
});

it.each([
  [" \n", null],
  [
    'to = ann\n amount=10\nnote = any text\nfast\n*\nquoted = "any text"\nurl = a=b',
    { fixed: { to: "ann", amount: 10, quoted: "any text", url: "a=b" }, text: ["note"], open: ["fast", "*"] },
  ],
])("reads typed arguments %j", (lines, read) => {
  expect(typedArguments(lines)).toEqual(read);
});

it("fixes the arguments that a person types for a server's tool, and says the rule before it is added", async () => {
  vi.spyOn(api, "GET").mockResolvedValue({ data: { workspaces: [] }, response: new Response() } as never);
  const posted = vi.spyOn(api, "POST").mockResolvedValue({ data: { warnings: [] }, response: new Response() } as never);
  const added = vi.fn();
  const { container } = show(<RuleForm onAdded={added} onCancel={vi.fn()} />);
  await userEvent.selectOptions(screen.getByLabelText("Effect"), "allow");
  await userEvent.type(screen.getByLabelText("Tool"), "raw__pay");
  expect(screen.queryByLabelText(/^Arguments/)).toBeNull();
  const pattern = screen.getByLabelText("File pattern or command");
  expect(pattern.getAttribute("placeholder")).toBe("mcp:raw/pay#*");
  await userEvent.type(pattern, "mcp:raw/pay#*");
  await userEvent.type(screen.getByLabelText(/^Arguments/), "to = ann{Enter}amount = 10{Enter}note = any text");
  expect(
    screen.getByText(
      'The rule: The agent may use pay of the server raw with to = "ann", amount = 10, any plain text in note',
    ),
  ).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  await vi.waitFor(() => expect(added).toHaveBeenCalledOnce());
  expect(posted.mock.calls[0]).toMatchObject([
    "/rules",
    {
      body: {
        tool: "raw__pay",
        resource: "mcp:raw/pay#*",
        effect: "allow",
        scope: "global",
        arguments: { fixed: { to: "ann", amount: 10 }, text: ["note"], open: [] },
      },
    },
  ]);
});

it("says of an endorsement what the agent may have read", () => {
  const rule = { effect: "allow", tool: "network", resource: "example.org:443", origin: "web:docs.example" };
  expect(ruleWords(rule)).toBe("The agent may connect to example.org:443, also after it read a page of docs.example");
});

it("shows a proposed rule with the calls that it would have decided, and adds it at a click", async () => {
  const calls = [{ id: "1", tool: "execute_command", resource: "command:npm test", context_id: "c" }];
  const rule = { tool: "execute_command", resource: "npm test", effect: "allow", scope: "workspace", workspace: "/w" };
  const add = vi.fn();
  const { container } = show(
    <ul>
      <ProposalLine proposal={{ rule, decided: 3, calls } as never} onAdd={add} />
    </ul>,
  );
  expect(screen.getByText(/would have answered 3 of your decisions/)).toBeTruthy();
  expect(screen.getByText("execute_command npm test")).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: /^Add the rule/ }));
  expect(add).toHaveBeenCalledOnce();
});
