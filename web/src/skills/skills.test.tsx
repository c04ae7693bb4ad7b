import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { Hooks } from "./Hooks";
import { toolsInWords } from "./needs";
import { Skills } from "./Skills";

afterEach(() => vi.restoreAllMocks());

const ROOT = "/home/me/station";
const HASH = "a".repeat(64);
const REPORT = {
  name: "monthly-report",
  description: "Writes the report of a month.",
  source: "workspace",
  path: ".agents/skills/monthly-report",
  sha256: HASH,
  trusted: false,
  changed: false,
  declared: { tools: ["Read", "Write", "Bash(python3:*)"], network: [], paths: ["reports/**"] },
  problems: [] as object[],
};
const OWN = {
  ...REPORT,
  name: "pdf-forms",
  source: "data",
  path: "skills/pdf-forms",
  problems: [{ message: "'description' is missing.", path: "SKILL.md", line: 3 }],
};
const FILES = [
  { path: "SKILL.md", bytes: 120, sha256: "b".repeat(64), text: "Do it well.\u202e" },
  { path: "font.bin", bytes: 2048, sha256: "c".repeat(64), text: null },
];
const HOOKS = [
  { event: "PreToolUse", matcher: "Bash|Write", command: "python3 tools/check.py", timeout: 10, last: null },
  {
    event: "PostToolUse",
    matcher: "",
    command: "tools/note",
    timeout: 10,
    last: { decision: "deny", reason: "Not on Fridays.", failed: "" },
  },
  {
    event: "PreToolUse",
    matcher: "*",
    command: "tools/slow",
    timeout: 10,
    last: { decision: "ask", reason: "", failed: "it took longer than 10 seconds" },
  },
];

interface Served {
  skills?: (typeof REPORT)[];
  files?: object[];
  page?: object;
  refusal?: { message: string; param: string };
  plugins?: object[];
}

/** A server with these; what is asked to be changed is recorded. */
function serve({ skills = [REPORT], files = [], page = {}, refusal, plugins = [] }: Served = {}) {
  let now = skills;
  const answers = (path: string): unknown =>
    ({
      "/skills": { skills: now },
      "/skills/{name}": { ...now[0], files: FILES, ...page },
      "/hooks": { files },
      "/plugins": { plugins: plugins },
      "/plugins/{name}": { ...plugins[0], files: FILES },
      "/workspaces": { workspaces: [{ id: "w1", root: ROOT }] },
      "/settings": { workspace: ROOT },
    })[path];
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => ({
    data: answers(path),
    response: new Response(),
  })) as never);
  const sent = vi.fn();
  const change = (method: string) => async (path: string, asked: { body?: { hash?: string | null } }) => {
    sent(`${method} ${path}`, asked);
    if (refusal)
      return {
        error: { error: { code: "invalid_parameter", retryable: false, ...refusal } },
        response: new Response(null, { status: 422 }),
      };
    if (path.endsWith("/trust")) now = now.map((skill) => ({ ...skill, trusted: asked.body?.hash !== null }));
    if (method === "DELETE") now = [];
    return { data: { ...REPORT, files: FILES }, response: new Response() };
  };
  vi.spyOn(api, "POST").mockImplementation(change("POST") as never);
  vi.spyOn(api, "DELETE").mockImplementation(change("DELETE") as never);
  return sent;
}

it("says in plain words what a skill declares, whether it is trusted and what is wrong with it", async () => {
  const look = { ...REPORT, name: "look", declared: { tools: ["Read"], network: [], paths: [] }, path: "skills/look" };
  serve({ skills: [REPORT, OWN, look] });
  const { container } = show(<Skills />);
  const needs = await screen.findByLabelText("What monthly-report declares");
  expect(needs.textContent).toContain("reading files, creating and changing files, commands with python3");
  expect(needs.textContent).toContain("no host");
  expect(needs.textContent).toContain("reports/**");
  const reading = screen.getByLabelText("What look declares");
  expect(reading.textContent).toBe("Usesreading files");
  expect(screen.getAllByText("not trusted: it is not used").length).toBe(2);
  expect(screen.getByLabelText("What is wrong with pdf-forms").textContent).toBe(
    "SKILL.md:3: 'description' is missing.",
  );
  await expectAccessible(container);
});

it("shows every file that the hash covers before it is trusted, trusts exactly these, and takes it back", async () => {
  const sent = serve();
  show(<Skills />);
  const fold = await screen.findByRole("button", { name: "Read it, to trust it" });
  expect(screen.queryByRole("button", { name: "Trust this content" })).toBeNull();
  await userEvent.click(fold);
  expect((await screen.findByLabelText("Content of SKILL.md")).textContent).toBe("Do it well.⟨U+202E⟩");
  expect(screen.getByText(/it is a key file, or no short text/)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Trust this content" }));
  await userEvent.click(await screen.findByRole("button", { name: "Stop trusting" }));
  await screen.findByText("not trusted: it is not used");
  const bodies = sent.mock.calls.map(([, { params, body }]) => [params.path.name, body]);
  expect(bodies).toEqual([
    ["monthly-report", { hash: HASH, workspace: ROOT }],
    ["monthly-report", { hash: null, workspace: ROOT }],
  ]);
});

it.each([{ sha256: "d".repeat(64) }, { path: "skills/monthly-report" }])(
  "offers no trust for another content than the one that is listed",
  async (page) => {
    serve({ page });
    show(<Skills />);
    await userEvent.click(await screen.findByRole("button", { name: "Read it, to trust it" }));
    expect(await screen.findByText(/This page cannot show it/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Trust this content" })).toBeNull();
  },
);

it("removes a skill of the data folder only, after asking", async () => {
  const sent = serve({ skills: [OWN, REPORT] });
  show(<Skills />);
  await userEvent.click(await screen.findByRole("button", { name: "Remove pdf-forms" }));
  expect(screen.queryByRole("button", { name: "Remove monthly-report" })).toBeNull();
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await waitFor(() =>
    expect(sent.mock.calls).toEqual([["DELETE /skills/{name}", { params: { path: { name: "pdf-forms" } } }]]),
  );
  expect(await screen.findByText(/No skill yet/)).toBeTruthy();
});

it("adds a folder, and says at its field why one is refused", async () => {
  const refusal = { message: "There is no SKILL.md in '/tmp'.", param: "path" };
  const sent = serve({ skills: [], refusal });
  show(<Skills />);
  expect(await screen.findByText(/No skill yet/)).toBeTruthy();
  const field = screen.getByRole("textbox", { name: /The folder of the skill/ });
  await userEvent.type(field, " /tmp {Enter}");
  expect(await screen.findByText(refusal.message)).toBeTruthy();
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(sent).toHaveBeenCalledWith("POST /skills", { body: { path: "/tmp" } });
});

it("shows what a plugin brought and what not, trusts its hooks after they were read, and removes it", async () => {
  const hooks = {
    path: "agent-plugins/notes/hooks/hooks.json",
    sha256: HASH,
    trusted: false,
    changed: false,
    problems: [],
  };
  const plugin = {
    name: "notes",
    version: "1.2",
    description: "Sorts notes.",
    source: "/home/me/notes",
    marketplace: "",
    skills: ["notes:sort"],
    hooks,
    agents: [{ name: "boss", about: "Rules." }],
    mcp_servers: [{ name: "git", about: "uvx mcp-server-git" }],
    not_imported: [{ what: "lspServers", reason: "They are not used." }],
  };
  const sent = serve({ skills: [], plugins: [plugin] });
  const { container } = show(<Skills />);
  const line = within(await screen.findByRole("list", { name: "Plugins" }));
  expect(line.getByText("Skills, each trusted for itself: notes:sort")).toBeTruthy();
  expect(within(line.getByRole("list", { name: /only listed/ })).getAllByRole("listitem").length).toBe(2);
  expect(line.getByRole("list", { name: "Not imported" }).textContent).toBe("lspServers They are not used.");
  await userEvent.click(line.getByRole("button", { name: "Read what its hooks may use, to trust them" }));
  await screen.findByLabelText("Content of SKILL.md");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Trust this content" }));
  await userEvent.click(screen.getByRole("button", { name: "Remove notes" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await waitFor(() =>
    expect(sent.mock.calls).toEqual([
      ["POST /plugins/{name}/trust", { params: { path: { name: "notes" } }, body: { hash: HASH } }],
      ["DELETE /skills/{name}", { params: { path: { name: "notes" } } }],
    ]),
  );
});

it("lists hooks with what each came to last, and trusts a folder's file after it was read", async () => {
  const file = { source: "workspace", path: ".anycowork/hooks.json", sha256: HASH, trusted: false };
  const sent = serve({ files: [{ ...file, content: '{"hooks": {}}', hooks: HOOKS, problems: ["Stop: not run"] }] });
  const { container } = show(<Hooks />);
  const lines = within(await screen.findByRole("list", { name: "Hooks of .anycowork/hooks.json" }));
  expect(lines.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
    "Before a call of Bash, Writepython3 tools/check.pyIt has not run since the server started.",
    "After a call of every tooltools/noteLast: denied: Not on Fridays.",
    "Before a call of every tooltools/slowLast: failed: it took longer than 10 seconds",
  ]);
  expect(screen.getByText("Stop: not run")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Look" }));
  expect((await screen.findByLabelText("Content of .anycowork/hooks.json")).textContent).toBe('{"hooks": {}}');
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Trust this content" }));
  expect(sent.mock.calls[0]?.[1].body.trust).toEqual({ workspace: ROOT, path: file.path, sha256: HASH });
});

it("says where hooks stand while there are none", async () => {
  serve();
  show(<Hooks />);
  expect(await screen.findByText(/No hooks/)).toBeTruthy();
});

it("knows the names that skills use for tools, and keeps the others as they are", () => {
  expect(
    toolsInWords(["Read", "Grep", "Bash", "Bash(git status)", "Edit(docs/**)", "WebFetch(domain:example.org)", "Task"]),
  ).toEqual([
    "reading files",
    "any command",
    "the command “git status”",
    "changing docs/**",
    "web pages of example.org",
    "other agents",
  ]);
  expect(toolsInWords(["mcp__weather__forecast", "delete_file(a)"])).toEqual([
    "the tool mcp__weather__forecast",
    "the tool delete_file(a)",
  ]);
});
