// Well-known servers: what each one does, and the usual way to start it. Nothing here is installed or trusted.

export interface KnownServer {
  readonly name: string;
  readonly about: string;
  readonly target: string;
  readonly network: string;
}

export const CATALOGUE: readonly KnownServer[] = [
  { name: "git", about: "reads git repositories", target: "mcp-server-git", network: "" },
  { name: "time", about: "tells the time of places", target: "mcp-server-time", network: "" },
  { name: "fetch", about: "reads web pages", target: "mcp-server-fetch", network: "example.org" },
  { name: "memory", about: "keeps notes as a graph", target: "mcp-server-memory", network: "" },
  { name: "everything", about: "shows every feature, for tests", target: "mcp-server-everything", network: "" },
  {
    name: "deepwiki",
    about: "answers questions about public repositories",
    target: "https://mcp.deepwiki.com/mcp",
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
