// Well-known servers: what each one does, and the usual way to install and start it. Nothing here is installed or trusted.
// Packages and programs were checked against npm's and PyPI's registries (November 2026). A server that must keep files of
// its own between calls (such as "memory") is not listed: programs have no such place in the sandbox.

interface KnownServer {
  readonly name: string;
  readonly about: string;
  readonly install: string;
  readonly target: string;
  readonly network: string;
}

const NPM = "npm install -g @modelcontextprotocol/";

export const CATALOGUE: readonly KnownServer[] = [
  {
    name: "git",
    about: "reads git repositories",
    install: "pip install mcp-server-git",
    target: "mcp-server-git",
    network: "",
  },
  {
    name: "time",
    about: "tells the time of places",
    install: "pip install mcp-server-time",
    target: "mcp-server-time",
    network: "",
  },
  {
    name: "fetch",
    about: "reads web pages",
    install: "pip install mcp-server-fetch",
    target: "mcp-server-fetch",
    network: "example.org",
  },
  {
    name: "filesystem",
    about: "reads the files of the chat's workspace",
    install: `${NPM}server-filesystem`,
    target: "mcp-server-filesystem",
    network: "",
  },
  {
    name: "sequential-thinking",
    about: "lets a model think step by step",
    install: `${NPM}server-sequential-thinking`,
    target: "mcp-server-sequential-thinking",
    network: "",
  },
  {
    name: "everything",
    about: "shows every feature, for tests",
    install: `${NPM}server-everything`,
    target: "mcp-server-everything",
    network: "",
  },
];

/** The request that adds a server: an address is reached, anything else is a program with its arguments. Pure. */
export function newServer(name: string, target: string, network: string) {
  const words = target.trim().split(/\s+/);
  const hosts = network.trim() ? network.trim().split(/[\s,]+/) : [];
  if (/^https?:\/\//.test(words[0] ?? "")) return { name: name.trim(), url: words[0] ?? "" };
  return { name: name.trim(), command: words[0] ?? "", args: words.slice(1), network: hosts };
}
