import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { useToasts } from "../ui/toasts";
import { api } from "../wire/client";
import { McpServers } from "./McpServers";
import { offerChanges, readOnlyChanges } from "./ServerTools";
import { changesOf, EMPTY, newServer, typedOf, wordsOf } from "./serverBody";

afterEach(() => vi.restoreAllMocks());

const SERVER = {
  name: "git",
  status: "ready",
  transport: "stdio",
  command: "/opt/git",
  args: ["--all"],
  env: [],
  url: null,
  headers: [],
  timeout: 60,
  enabled: true,
  allowed: null,
  denied: ["push"],
  read_only: [] as string[],
  network: [],
  unsandboxed: false,
  sampling: false,
  data_folder: false,
  data_bytes: 0 as number | null,
  workspace_access: "read",
  refused_hosts: [] as string[],
  problems: ["'bad name': its name holds other signs"],
  log: ["started"],
  tools: [
    { name: "log", description: "Show <b>the</b> log.", enabled: true, read_only: false },
    { name: "push", description: "", enabled: false, read_only: false },
  ],
  resources: 0,
  prompts: [],
};

/** A server with these MCP servers; `sent` records what is asked of it. */
function serve(servers = [SERVER], folders: readonly object[] = []) {
  const sent = vi.fn();
  const answer =
    (method: string, data: unknown) =>
    async (path: string, options?: { body?: unknown; params?: { query?: unknown } }): Promise<unknown> => {
      sent(method, path, options?.body ?? options?.params?.query);
      return { data, response: new Response() };
    };
  vi.spyOn(api, "GET").mockImplementation(answer("GET", { servers, data_folders: folders }) as never);
  vi.spyOn(api, "POST").mockImplementation(answer("POST", SERVER) as never);
  vi.spyOn(api, "PATCH").mockImplementation(answer("PATCH", SERVER) as never);
  vi.spyOn(api, "DELETE").mockImplementation(answer("DELETE", undefined) as never);
  return sent;
}

it("names the module of a server inside this one, which only the settings remove", async () => {
  serve([
    { ...SERVER, transport: "module", command: null, args: [], module: "team-calendar:team_calendar:server" },
  ] as never);
  show(<McpServers />);
  expect(await screen.findByText("team-calendar:team_calendar:server")).toBeTruthy();
  expect(screen.queryByRole("button", { name: /remove/i })).toBeNull();
});

it("shows how each server is, its tools, what is wrong and its log, as plain text", async () => {
  serve();
  const { container } = show(<McpServers />);
  expect(await screen.findByText("ready")).toBeTruthy();
  expect(screen.getByText("Show <b>the</b> log.")).toBeTruthy();
  expect(screen.getByLabelText("Not offered by git").textContent).toContain("bad name");
  expect(screen.getByText("started")).toBeTruthy();
  await expectAccessible(container);
});

it("tests with one click and switches single tools", async () => {
  const sent = serve();
  show(<McpServers />);
  await userEvent.click(await screen.findByRole("button", { name: "Test git" }));
  expect(sent).toHaveBeenCalledWith("POST", "/mcp/servers/{name}/connect", undefined);
  expect(await screen.findByText("It works and offers 1 tool.")).toBeTruthy();
  await userEvent.click(screen.getByLabelText("Offer log"));
  expect(sent).toHaveBeenCalledWith("PATCH", "/mcp/servers/{name}", { denied: ["push", "log"] });
  await userEvent.click(screen.getByLabelText("log is read-only"));
  expect(sent).toHaveBeenCalledWith("PATCH", "/mcp/servers/{name}", { read_only: ["log"] });
});

it("opens the page to sign in at, and links it for browsers that block that", async () => {
  const address = "https://far.example/authorize?state=1";
  const far = { ...SERVER, status: "failed", sign_in: "open", url: "https://far.example/mcp" };
  serve([far] as never);
  vi.spyOn(api, "POST").mockResolvedValue({ data: { address }, response: new Response() } as never);
  const opened = vi.spyOn(window, "open").mockReturnValue(null);
  const { container } = show(<McpServers />);
  expect(screen.queryByRole("link")).toBeNull();
  await userEvent.click(await screen.findByRole("button", { name: "Sign in to git" }));
  const link = await screen.findByRole("link", { name: "Open the sign-in page of git" });
  expect([link.getAttribute("href"), link.getAttribute("rel")]).toEqual([address, "noopener noreferrer"]);
  expect(opened).toHaveBeenCalledWith(address, "_blank", "noopener,noreferrer");
  await expectAccessible(container);
});

it("adds a well-known server from the catalogue", async () => {
  const sent = serve([]);
  show(<McpServers />);
  await userEvent.click(await screen.findByRole("button", { name: "time" }));
  await userEvent.click(screen.getByRole("button", { name: "Add and test" }));
  const body = { name: "time", command: "mcp-server-time", args: [], env: {}, network: [] };
  const folders = { workspace_access: "read", data_folder: false };
  expect(sent).toHaveBeenCalledWith("POST", "/mcp/servers", { ...body, ...folders });
});

it("brings a server that was added into view: its line stands above the form, and says what came of it", async () => {
  serve([{ ...SERVER, name: "time" }, SERVER]);
  const shown: (string | undefined)[] = [];
  HTMLElement.prototype.scrollIntoView = function scrollIntoView(this: HTMLElement) {
    shown.push(this.querySelector("span")?.textContent ?? undefined);
  };
  show(<McpServers />);
  await userEvent.click(await screen.findByRole("button", { name: "time" }));
  await userEvent.click(screen.getByRole("button", { name: "Add and test" }));
  await waitFor(() => expect(shown).toContain("time"));
  expect(shown).not.toContain(SERVER.name);
  Reflect.deleteProperty(HTMLElement.prototype, "scrollIntoView");
});

it("says what is wrong with a server at its field, and keeps what was typed", async () => {
  serve([]);
  const refused = (param: string | null, message: string) =>
    vi.spyOn(api, "POST").mockResolvedValue({
      error: { error: { code: "conflict", message, param, type: "invalid_request_error" } },
      response: new Response(null, { status: 409 }),
    } as never);
  refused("name", "There is an MCP server 'time' already.");
  show(<McpServers />);
  await userEvent.click(await screen.findByRole("button", { name: "time" }));
  const add = screen.getByRole("button", { name: "Add and test" });
  await userEvent.click(add);
  const name = screen.getByLabelText(/^Name/);
  await waitFor(() => expect(name.getAttribute("aria-invalid")).toBe("true"));
  expect(document.getElementById(name.getAttribute("aria-describedby")!)!.textContent).toContain("already");
  refused("env.A B.[key]", "'env' has a name with a space.");
  await userEvent.click(add);
  await waitFor(() => expect(screen.getByLabelText(/^Variables/).getAttribute("aria-invalid")).toBe("true"));
  refused(null, "There are 50 MCP servers already.");
  await userEvent.click(add);
  expect((await screen.findByRole("alert")).textContent).toContain("50 MCP servers");
  expect(name).toHaveProperty("value", "time");
  expect(useToasts.getState().toasts).toEqual([]);
});

it("knows an address from a program, and what a switch changes", () => {
  const remote = { ...EMPTY, name: " docs ", target: "https://x.org/mcp", variables: "Authorization=Bearer a=b" };
  expect(newServer(remote)).toEqual({
    name: "docs",
    url: "https://x.org/mcp",
    headers: { Authorization: "Bearer a=b" },
  });
  const program = { ...EMPTY, name: "a", target: "prog -x  'y z'", network: "h1, h2", variables: "A=1\n\nB= 2 " };
  expect(newServer({ ...program, access: "layer", dataFolder: true })).toEqual({
    name: "a",
    command: "prog",
    args: ["-x", "y z"],
    env: { A: "1", B: " 2 " },
    network: ["h1", "h2"],
    workspace_access: "layer",
    data_folder: true,
  });
  expect(offerChanges({ allowed: ["a"], denied: ["b"] }, "b", true)).toEqual({ denied: [], allowed: ["a", "b"] });
  expect(readOnlyChanges({ read_only: ["a", "b"] }, "a", false)).toEqual({ read_only: ["b"] });
});

it("edits a server without ever showing a value, and keeps what is not touched", async () => {
  const sent = serve([{ ...SERVER, env: ["KEY", "OLD"], args: ["--all", "a b"] }] as never);
  const { container } = show(<McpServers />);
  await userEvent.click(await screen.findByRole("button", { name: "Edit git" }));
  const form = within(screen.getByRole("form", { name: "Edit git" }));
  expect((form.getByLabelText(/^Program or address/) as HTMLInputElement).value).toBe('/opt/git --all "a b"');
  expect((form.getByLabelText(/^Variables/) as HTMLTextAreaElement).value).toBe("");
  await userEvent.click(form.getByLabelText("Keep OLD"));
  await userEvent.type(form.getByLabelText(/^Variables/), "NEW=secret");
  await userEvent.selectOptions(form.getByLabelText("What it sees of the workspace"), "layer");
  await userEvent.click(form.getByLabelText("Keep a folder of its own"));
  await expectAccessible(container);
  await userEvent.click(form.getByRole("button", { name: "Save and test" }));
  expect(sent).toHaveBeenCalledWith("PATCH", "/mcp/servers/{name}", {
    command: "/opt/git",
    args: ["--all", "a b"],
    env: { OLD: null, NEW: "secret" },
    network: [],
    workspace_access: "layer",
    data_folder: true,
  });
  expect(sent).toHaveBeenCalledWith("POST", "/mcp/servers/{name}/connect", undefined);
});

it("offers the host that a failed server was refused, and shows what it prints while it starts", async () => {
  const failed = { ...SERVER, status: "failed", error: "it wanted to reach x.org", refused_hosts: ["x.org"] };
  const starting = { ...SERVER, name: "slow", status: "connecting", log: ["loading 1 of 2"] };
  const sent = serve([failed, starting] as never);
  const { container } = show(<McpServers />);
  expect((await screen.findByLabelText("What slow prints while it starts")).textContent).toBe("loading 1 of 2");
  await userEvent.click(screen.getByRole("button", { name: "Allow x.org and try again" }));
  expect(sent).toHaveBeenCalledWith("PATCH", "/mcp/servers/{name}", { network: ["x.org"] });
  await expectAccessible(container);
});

it("removes a failed server, and asks about what it has kept", async () => {
  const sent = serve([{ ...SERVER, status: "failed", data_folder: true, data_bytes: 2048 }] as never);
  show(<McpServers />);
  expect(await screen.findByText("Its data folder holds 2 KB.")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Remove git" }));
  await userEvent.click(screen.getByLabelText("Also delete what it has kept (2 KB)"));
  await userEvent.click(screen.getByRole("button", { name: "Remove" }));
  expect(sent).toHaveBeenCalledWith("DELETE", "/mcp/servers/{name}", { with_data: true });
});

it("lists what removed servers have left, and deletes it", async () => {
  const sent = serve([], [{ name: "gone", bytes: 1024, has_server: false }]);
  show(<McpServers />);
  expect(await screen.findByText(/gone was removed and has left 1 KB/)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Delete the data of gone" }));
  expect(sent).toHaveBeenCalledWith("DELETE", "/mcp/data_folders/{name}", undefined);
});

it("shows in the form what the server has, word for word", () => {
  const server = { ...SERVER, args: ["a b", "", 'say "x"'], workspace_access: "layer" } as never;
  expect(wordsOf(typedOf(server).target)).toEqual(["/opt/git", "a b", "", 'say "x"']);
  expect(changesOf({ ...typedOf(server), dropped: ["A"] })).toMatchObject({
    env: { A: null },
    workspace_access: "layer",
  });
});
