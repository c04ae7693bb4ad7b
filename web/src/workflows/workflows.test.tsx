import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { composer } from "../testing/composer";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import type { FileFault, Workflow } from "../wire/nouns";
import { grouped, matching, nameTyped } from "./choosing";
import { begun, filled } from "./filling";
import { closeWorkflows, keyOf, useOpening } from "./opening";
import Workflows from "./Workflows";

const workflow = (parts: Partial<Workflow>): Workflow => ({
  name: "explain",
  description: "Explain a file.",
  category: "understand",
  parameters: [],
  needs: ["read_files"],
  steps: [{ title: "Explain it", kind: "prompt" }],
  about: "",
  usage: "/explain",
  source: "built_in",
  trusted: true,
  path: `builtin/${parts.name ?? "explain"}.md`,
  sha256: "a".repeat(64),
  ...parts,
});

const EXPLAIN = workflow({
  parameters: [
    { name: "path", type: "path", description: "the file to explain", required: true },
    {
      name: "depth",
      type: "string",
      description: "how far to go",
      required: false,
      default: "brief",
      choices: ["brief", "thorough"],
    },
    { name: "lines", type: "integer", description: "at most", required: false, default: 10 },
    { name: "draft", type: "boolean", description: "only a draft", required: false, default: true },
  ],
});
const CREATE = workflow({
  name: "create_project",
  description: "Create a project.",
  category: "build",
  needs: ["read_files", "write_files"],
});
const RELEASE = workflow({
  name: "release",
  description: "Tag a release.",
  category: "release",
  source: "workspace",
  trusted: false,
  path: ".anycowork/workflows/release.md",
  sha256: "b".repeat(64),
});
const FAULT: FileFault = { source: "data", path: "half.md", line: 3, reason: "there is no tool 'fly'" };

type Answer = { status?: number; body: unknown };
const posted = vi.fn<(path: string, options: { body: unknown }) => Answer>();

beforeEach(() => {
  closeWorkflows();
  localStorage.clear();
  posted.mockReset().mockReturnValue({ body: { run_id: "r", message_id: "m", turn_id: "r" } });
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => {
    const page = { ...RELEASE, content: "## Tag it\n\nTag the release." };
    const data = path === "/workflows" ? { workflows: [EXPLAIN, CREATE, RELEASE], faults: [FAULT] } : page;
    return { data, response: new Response() };
  }) as never);
  vi.spyOn(api, "POST").mockImplementation((async (path: string, options: { body: unknown }) => {
    const { status = 202, body } = posted(path, options);
    return { data: body, error: body, response: new Response(null, { status }) };
  }) as never);
});
afterEach(() => vi.restoreAllMocks());

function selector(parts: { at?: string; role?: string; busy?: boolean } = {}) {
  const on = { onSwitch: vi.fn(), onStarted: vi.fn(), onClose: vi.fn() };
  const shown = show(
    <Workflows chatId="chat" workspace="/home/ann/project" role="planner" busy={false} at={null} {...parts} {...on} />,
  );
  return { ...shown, ...on };
}

it("groups by category, finds by words, and is chosen by keys", async () => {
  const { container } = selector();
  const field = await screen.findByRole("combobox", { name: "Find a workflow" });
  expect(screen.getAllByRole("group").map((group) => group.getAttribute("aria-label"))).toEqual([
    "build",
    "release",
    "understand",
  ]);
  await expectAccessible(container);
  await userEvent.type(field, "expl");
  expect(screen.getAllByRole("option")).toHaveLength(1);
  await userEvent.clear(field);
  await userEvent.type(field, "{ArrowDown}{ArrowDown}{ArrowUp}{ArrowDown}{Enter}");
  expect(screen.getByRole("form", { name: "explain" })).toBeTruthy();
});

it("says what fits nothing, how to write one, and which files are at fault", async () => {
  selector();
  await userEvent.type(await screen.findByRole("combobox"), "zebra");
  expect(screen.getByText("No workflow found.").getAttribute("role")).toBe("status");
  expect(screen.getByText("anycowork workflow new NAME")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "1 file gives no workflow" }));
  expect(screen.getByText("half.md:3")).toBeTruthy();
});

it("makes a form of the parameters, and sends what stands in it", async () => {
  const { onStarted, container } = selector({ at: keyOf(EXPLAIN) });
  await userEvent.type(await screen.findByLabelText(/path/), "src/app.py");
  await userEvent.selectOptions(screen.getByLabelText("depth"), "thorough");
  await userEvent.clear(screen.getByLabelText("lines"));
  await userEvent.click(screen.getByLabelText("draft"));
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Run" }));
  const [path, { body }] = posted.mock.calls[0]!;
  expect(path).toBe("/workflows/{name}/execute");
  expect(body).toEqual({ context_id: "chat", parameters: { path: "src/app.py", depth: "thorough", draft: false } });
  await waitFor(() => expect(onStarted).toHaveBeenCalledOnce());
});

it("shows each fault at its field", async () => {
  const message = "The parameters of 'explain' do not fit.";
  posted.mockReturnValue({
    status: 422,
    body: { error: { code: "unfitting_parameters", message }, faults: [{ param: "path", message: "is missing" }] },
  });
  const { onStarted } = selector({ at: keyOf(EXPLAIN) });
  fireEvent.submit(await screen.findByRole("form"));
  const field = await screen.findByRole("textbox", { name: /path/, description: /It is missing\./ });
  expect(field.getAttribute("aria-invalid")).toBe("true");
  expect(onStarted).not.toHaveBeenCalled();
});

it("offers the roles that may run it, and says why the server refused", async () => {
  const message = "Planner may not run 'create_project'. Switch to Actor to run it.";
  posted.mockReturnValue({ status: 403, body: { error: { code: "forbidden_by_role", message } } });
  const { onSwitch } = selector({ at: keyOf(CREATE) });
  expect((await screen.findByRole("note")).textContent).toContain("it needs write files");
  fireEvent.submit(screen.getByRole("form"));
  expect((await screen.findByRole("alert")).textContent).toBe(message);
  await userEvent.click(screen.getByRole("button", { name: "Switch to Actor" }));
  expect(onSwitch).toHaveBeenCalledWith("actor");
});

it("runs nothing while the agent is at work", async () => {
  selector({ at: keyOf(EXPLAIN), busy: true });
  fireEvent.submit(await screen.findByRole("form"));
  expect(posted).not.toHaveBeenCalled();
});

it("shows a file that nobody trusted, and trusts exactly what was shown", async () => {
  const { container } = selector({ at: keyOf(RELEASE) });
  expect(await screen.findByText(/Tag the release\./)).toBeTruthy();
  expect(screen.getByTitle(`SHA-256 ${"b".repeat(64)}`)).toBeTruthy(); // a name of the bytes is no word to read
  expect(screen.queryByRole("button", { name: "Run" })).toBeNull();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Trust this content" }));
  const trust = { workspace: "/home/ann/project", path: RELEASE.path, sha256: RELEASE.sha256 };
  expect(posted.mock.calls[0]).toMatchObject(["/workspaces", { body: { trust } }]);
});

it("shows no other content than the one that would be trusted", async () => {
  vi.mocked(api.GET).mockImplementation((async (path: string) => {
    const changed = { ...RELEASE, sha256: "c".repeat(64), content: "something else" };
    return { data: path === "/workflows" ? { workflows: [RELEASE], faults: [] } : changed, response: new Response() };
  }) as never);
  selector({ at: keyOf(RELEASE) });
  expect(await screen.findByText(/This page cannot show it/)).toBeTruthy();
  expect(screen.queryByText("something else")).toBeNull();
});

// --- in the composer

it("completes a slash, and opens the form of the one that is chosen", async () => {
  const { field, container, onSend } = composer();
  await userEvent.type(field, "/expl");
  await screen.findByRole("listbox", { name: "Suggestions" });
  await expectAccessible(container);
  expect(field.getAttribute("aria-activedescendant")).toBe(screen.getAllByRole("option")[0]!.id);
  await userEvent.type(field, "{ArrowDown}{ArrowUp}{Enter}");
  expect(useOpening.getState()).toEqual({ open: true, at: keyOf(EXPLAIN) });
  expect(field.value).toBe("");
  expect(onSend).not.toHaveBeenCalled();
});

it("completes the name with Tab and leaves the rest to be typed", async () => {
  const { field, onSend } = composer();
  await userEvent.type(field, "/expl");
  await screen.findByRole("listbox");
  await userEvent.tab();
  await userEvent.type(field, "src{Enter}");
  expect(onSend).toHaveBeenCalledWith("/explain src", [], []);
});

it("sends a name that needs nothing more", async () => {
  const { field, onSend } = composer();
  await userEvent.type(field, "/create_project");
  await screen.findByRole("listbox");
  await userEvent.type(field, "{Enter}");
  expect(onSend).toHaveBeenCalledWith("/create_project", [], []);
});

it("goes away with Escape and leaves the words", async () => {
  const { field } = composer();
  await userEvent.type(field, "/exp");
  await screen.findByRole("listbox");
  await userEvent.type(field, "{Escape}");
  expect(screen.queryByRole("listbox")).toBeNull();
  expect(field.value).toBe("/exp");
});

it("tells a name from words, and a path", () => {
  expect(["/", "/exp", "/exp src", "//etc", "/etc/hosts", "exp"].map(nameTyped)).toEqual([
    "",
    "exp",
    null,
    null,
    null,
    null,
  ]);
});

it("puts names that begin so first", () => {
  expect(matching([CREATE, EXPLAIN, RELEASE], "re").map(({ name }) => name)).toEqual(["release", "create_project"]);
  expect(grouped([EXPLAIN, CREATE]).map(({ name }) => name)).toEqual(["build", "understand"]);
});

it("begins with the defaults, and leaves out what is empty", () => {
  const values = begun(EXPLAIN.parameters);
  expect(values).toEqual({ path: "", depth: "brief", lines: "10", draft: true });
  expect(filled(values)).toEqual({ depth: "brief", lines: "10", draft: true });
});
