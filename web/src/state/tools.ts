// How calls of a tool are shown and what they match, as the server describes it. Asked for each tool that a call names.
import { type QueryClient, useQueries, useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type ToolDisplay = Omit<components["schemas"]["ToolDisplayResponse"], "kind"> & { kind: string };

const UNKNOWN: ToolDisplay = { kind: "other", subject: [], target: [], example: {} };

export function useToolDisplay(tool: string): ToolDisplay {
  return useQuery(display(tool)).data ?? UNKNOWN;
}

/** The same, once the server has described it; one that it does not know is no fault. */
export async function toolDisplay(queries: QueryClient, tool: string): Promise<ToolDisplay> {
  return queries.fetchQuery({ ...display(tool), retry: false }).catch(() => UNKNOWN);
}

/** What was asked before; "other" otherwise. */
export function knownKind(queries: QueryClient, tool: string): string {
  return queries.getQueryData<ToolDisplay>(["tool", tool])?.kind ?? UNKNOWN.kind;
}

export function useToolDisplays(tools: readonly string[]): Record<string, ToolDisplay> {
  const names = [...new Set(tools)];
  const found = useQueries({ queries: names.map(display) });
  return Object.fromEntries(names.map((name, at) => [name, found[at]?.data ?? UNKNOWN]));
}

function display(tool: string) {
  return {
    queryKey: ["tool", tool],
    queryFn: (): Promise<ToolDisplay> => given(api.GET("/calls/{name}/display", { params: { path: { name: tool } } })),
    enabled: tool !== "",
    staleTime: 5 * 60_000,
  };
}
