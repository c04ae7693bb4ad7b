// Texts of MCP servers.
import { translated } from "./language";

export const en = {
  title: "MCP servers",
  about:
    "Programs and addresses whose tools agents may use. Every call asks until you decide otherwise; programs run in the sandbox.",
  servers: "MCP servers",
  none: "No MCP servers yet. Add one below.",
  status: {
    connecting: "connecting",
    ready: "ready",
    failed: "failed",
    disabled: "disconnected",
  } as Readonly<Record<string, string>>,
  signIn: "Sign in",
  signInName: (name: string) => `Sign in to ${name}`,
  signInOpened: (name: string) => `Log in to ${name} in the page that has opened.`,
  signInPage: (name: string) => `Open the sign-in page of ${name}`,
  install: (command: string) => `Install it with: ${command}`,
  test: "Test",
  testName: (name: string) => `Test ${name}`,
  testing: "Testing …",
  works: (name: string, count: number) => `${name} works: ${count === 1 ? "1 tool" : `${count} tools`}.`,
  fails: (name: string, error: string) => `${name} failed: ${error}`,
  remove: (name: string) => `Remove ${name}`,
  removed: (name: string) => `${name} is removed.`,
  toolsOf: (name: string, count: number) => `Tools of ${name} (${count})`,
  offer: "Offer",
  offerTool: (tool: string) => `Offer ${tool}`,
  readOnly: "Read-only",
  markReadOnly: (tool: string) => `${tool} is read-only`,
  readOnlyHint: "Mark a tool as read-only only if you know that it changes nothing: such calls are not asked about.",
  sampling: "May ask your model",
  samplingOf: (name: string) => `${name} may ask your model`,
  samplingHint: "You see each prompt and decide. You pay for the requests.",
  logOf: (name: string) => `Log of ${name}`,
  emptyLog: "It has printed nothing.",
  problems: (name: string) => `Not offered by ${name}`,
  add: "Add a server",
  catalogue: "Well-known servers",
  choose: "Choose one to fill in the form; the program must be installed.",
  name: "Name",
  nameHint: "small letters and digits",
  target: "Program or address",
  targetHint: "such as /opt/venv/bin/mcp-server-git, or https://example.org/mcp",
  network: "Hosts that it may reach",
  networkHint: "separated by spaces; none without it",
  addButton: "Add and test",
};

export type Texts = typeof en;
export const t = translated("mcp", en);
