import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { newServer } from "./catalogue";
import { McpServers } from "./McpServers";
import { offerChanges, readOnlyChanges } from "./ServerTools";

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
function serve(servers = [SERVER]) {
  const sent = vi.fn();
  const answer =
    (method: string, data: unknown) =>
    async (path: string, options?: { body?: unknown }): Promise<unknown> => {
      sent(method, path, options?.body);
      return { data, response: new Response() };
    };
  vi.spyOn(api, "GET").mockImplementation(answer("GET", { servers }) as never);
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
  const body = { name: "time", command: "mcp-server-time", args: [], network: [] };
  expect(sent).toHaveBeenCalledWith("POST", "/mcp/servers", body);
});

it("knows an address from a program, and what a switch changes", () => {
  expect(newServer(" docs ", "https://x.org/mcp", "")).toEqual({ name: "docs", url: "https://x.org/mcp" });
  expect(newServer("a", "prog -x  y", "h1, h2")).toEqual({
    name: "a",
    command: "prog",
    args: ["-x", "y"],
    network: ["h1", "h2"],
  });
  expect(offerChanges({ allowed: ["a"], denied: ["b"] }, "b", true)).toEqual({ denied: [], allowed: ["a", "b"] });
  expect(readOnlyChanges({ read_only: ["a", "b"] }, "a", false)).toEqual({ read_only: ["b"] });
});
