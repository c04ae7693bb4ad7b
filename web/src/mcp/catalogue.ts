// Well-known servers: what each one does, and the usual way to install and start it. Nothing here is installed or trusted.
// Packages and programs were checked against npm's and PyPI's registries (November 2026).

import type { TypedServer } from "./serverBody";

interface KnownServer extends Partial<TypedServer> {
  readonly name: string;
  readonly about: string;
  readonly install: string;
  readonly target: string;
}

const NPM = "npm install -g @modelcontextprotocol/";

export const CATALOGUE: readonly KnownServer[] = [
  {
    name: "git",
    about: "works with git repositories",
    install: "pip install mcp-server-git",
    target: "mcp-server-git",
    access: "layer",
  },
  {
    name: "time",
    about: "tells the time of places",
    install: "pip install mcp-server-time",
    target: "mcp-server-time",
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
    about: "reads and changes the files of the chat's workspace",
    access: "layer",
    install: `${NPM}server-filesystem`,
    target: "mcp-server-filesystem",
  },
  {
    name: "memory",
    about: "remembers facts across chats",
    install: `${NPM}server-memory`,
    target: "mcp-server-memory",
    variables: "MEMORY_FILE_PATH=/home/sandbox/memory.jsonl",
    access: "none",
    dataFolder: true,
  },
  {
    name: "sqlite",
    about: "works with a SQLite database in the chat's workspace",
    install: "pip install mcp-server-sqlite",
    target: "mcp-server-sqlite --db-path data.db",
    access: "layer",
  },
  {
    name: "sequential-thinking",
    about: "lets a model think step by step",
    install: `${NPM}server-sequential-thinking`,
    target: "mcp-server-sequential-thinking",
  },
  {
    name: "everything",
    about: "shows every feature, for tests",
    install: `${NPM}server-everything`,
    target: "mcp-server-everything",
  },
];
