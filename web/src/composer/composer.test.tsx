import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { TextCard } from "../messages/TextCard";
import { composer } from "../testing/composer";
import { expectAccessible, message, show } from "../testing/render";
import { api } from "../wire/client";
import { commandIn, completionContextAt, mention, mentionsIn } from "./inputSyntax";

const ANSWERS: Record<string, unknown> = {
  "/context/{chat_id}/files/search": {
    results: [
      { path: "src/my app.py", shown: "src/my app.py", kind: "file" },
      { path: "src", shown: "src", kind: "folder" },
    ],
    complete: true,
  },
  "/context/{chat_id}/symbols": { results: [{ name: "srcOf", kind: "def", path: "src/a.py", line: 3 }] },
  "/mcp/resources": { resources: [] },
  "/workflows": { workflows: [], faults: [] },
  "/skills": {
    skills: [
      { name: "pdf-forms", description: "Fills forms.", trusted: true },
      { name: "pdf-sign", description: "Signs.", trusted: false },
    ],
  },
  "/roles": { roles: [] },
  "/providers": { providers: [] },
};

beforeEach(() => {
  localStorage.clear();
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => ({
    data: ANSWERS[path] ?? {},
    response: new Response(),
  })) as never);
});

// proves UI-8
it("runs a command that is chosen from the list or typed whole, and sends nothing", async () => {
  const { field, onCommand, onSend, container } = composer();
  await userEvent.type(field, "/co");
  await screen.findByRole("option", { name: /\/compact/ });
  await expectAccessible(container);
  await userEvent.type(field, "{Enter}");
  await userEvent.type(field, "/export html{Escape}{Enter}");
  expect(onCommand.mock.calls).toEqual([
    ["compact", ""],
    ["export", "html"],
  ]);
  expect(field.value).toBe("");
  expect(onSend).not.toHaveBeenCalled();
});

it("completes a trusted skill, and sends it when its name is typed whole", async () => {
  const { field, onSend } = composer();
  await userEvent.type(field, "/pdf");
  expect((await screen.findByRole("option", { name: /\/pdf-forms/ })).textContent).toContain("Fills forms.");
  expect(screen.queryByRole("option", { name: /pdf-sign/ })).toBeNull();
  await userEvent.type(field, "{Enter}this one");
  expect(field.value).toBe("/pdf-forms this one");
  await userEvent.clear(field);
  await userEvent.type(field, "/pdf-forms{Enter}");
  expect(onSend).toHaveBeenCalledWith("/pdf-forms", [], []);
});

// proves UI-8
it("puts what is named into the words at the caret", async () => {
  const { field, container } = composer();
  fireEvent.change(field, { target: { value: "look at @src please", selectionStart: 12 } });
  const file = await screen.findByRole("option", { name: /my app\.py/ });
  await expectAccessible(container);
  expect(screen.getByRole("option", { name: /@symbol:srcOf/ }).textContent).toContain("src/a.py:3");
  expect(field.getAttribute("aria-activedescendant")).toBe(file.id);
  fireEvent.keyDown(field, { key: "Enter" });
  expect(field.value).toBe('look at @"src/my app.py" please');
});

it("knows what is being typed", () => {
  expect(completionContextAt("/mo", 3)).toEqual({ kind: "command", text: "mo" });
  expect(completionContextAt("/model gpt", 10)).toEqual({ kind: "argument", command: "model", text: "gpt" });
  expect(completionContextAt("see (@a/b.t", 11)).toEqual({ kind: "mention", text: "a/b.t", from: 5 });
  expect([
    completionContextAt("me@example.org", 14),
    completionContextAt("see @a b", 8),
    completionContextAt("", 0),
  ]).toEqual([null, null, null]);
  expect(["/restore", "/undo"].map(commandIn)).toEqual(Array(2).fill({ command: "restore", text: "" }));
  expect(["/compact", "/compact now then", "/explain x", "say /new"].map(commandIn)).toEqual([
    { command: "compact", text: "" },
    null,
    null,
    null,
  ]);
});

it("writes mentions as the server reads them", () => {
  expect(mention("folder", "src")).toBe("@src/");
  expect(mention("file", "a b.txt")).toBe('@"a b.txt"');
  expect(mention("mcp", "docs:notes://a b")).toBe('@mcp:"docs:notes://a b"');
  const named = mentionsIn('see @a.txt, @"b c" and me@x.org, @symbol:Foo.').filter((one) => one.mention);
  expect(named.map(({ text }) => text)).toEqual(["@a.txt", '@"b c"', "@symbol:Foo"]);
});

it("marks what was named in a message", () => {
  show(<TextCard message={message({ role: "user", content: "read @a.txt now" })} thought={null} />);
  expect(screen.getByText("@a.txt").tagName).toBe("CODE");
});

it("marks a checkpoint that is named", () => {
  expect(mention("checkpoint", "01a1e46b-3611-7012")).toBe("@checkpoint:01a1e46b-3611-7012");
  expect(mentionsIn("see @checkpoint:01a1e46b-3611-7012.").map(({ text }) => text)).toEqual([
    "see ",
    "@checkpoint:01a1e46b-3611-7012",
    ".",
  ]);
});
