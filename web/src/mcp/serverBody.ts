// What the form of a server sends: the request that adds one, and the changes of one that exists. Pure.

import type { components } from "../wire/api.gen";

type Server = components["schemas"]["McpServerResponse"];
export type WorkspaceAccess = Server["workspace_access"];
export const ACCESS: readonly WorkspaceAccess[] = ["none", "read", "layer"];

/** As typed: `variables` has a NAME=value on each line, `dropped` the names of stored ones that go. */
export interface TypedServer {
  readonly name: string;
  readonly target: string;
  readonly network: string;
  readonly variables: string;
  readonly dropped: readonly string[];
  readonly access: WorkspaceAccess;
  readonly dataFolder: boolean;
}

export const EMPTY: TypedServer = {
  name: "",
  target: "",
  network: "",
  variables: "",
  dropped: [],
  access: "read",
  dataFolder: false,
};

/** An address is reached, anything else is a program with its arguments. */
export function newServer(typed: TypedServer) {
  const name = typed.name.trim();
  const [first = "", ...args] = wordsOf(typed.target);
  const secrets = variablesOf(typed.variables);
  if (isAddress(first)) return { name, url: first, headers: secrets };
  return {
    name,
    command: first,
    args,
    env: secrets,
    network: hostsOf(typed.network),
    workspace_access: typed.access,
    data_folder: typed.dataFolder,
  };
}

/** What the form shows of a server: no value of a variable, which nobody can read back. */
export function typedOf(server: Server): TypedServer {
  return {
    ...EMPTY,
    name: server.name,
    target: server.url ?? [server.command ?? "", ...server.args].map(quoted).join(" "),
    network: server.network.join(" "),
    access: server.workspace_access,
    dataFolder: server.data_folder,
  };
}

/** The changes that make the server what was typed. */
export function changesOf(typed: TypedServer) {
  const { name: _, ...body } = newServer(typed);
  const dropped = Object.fromEntries(typed.dropped.map((name) => [name, null]));
  if ("url" in body) return { url: body.url, headers: { ...dropped, ...body.headers } };
  return { ...body, env: { ...dropped, ...body.env } };
}

/** The words of a command line; quotes hold words with spaces together. */
export function wordsOf(line: string): string[] {
  const words = line.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => (/^(["']).*\1$/.test(word) ? word.slice(1, -1) : word));
}

function quoted(word: string): string {
  if (word !== "" && !/[\s"']/.test(word)) return word;
  return word.includes('"') ? `'${word}'` : `"${word}"`;
}

export function isAddress(target: string): boolean {
  return /^https?:\/\//.test(target);
}

function hostsOf(text: string): string[] {
  return text.trim() ? text.trim().split(/[\s,]+/) : [];
}

function variablesOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.includes("="));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")).trim(), line.slice(line.indexOf("=") + 1)]),
  );
}
