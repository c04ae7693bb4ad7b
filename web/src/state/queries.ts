// What is asked over REST and seldom changes: roles, providers, workspaces, settings, and what the server offers at all.
import { useQuery } from "@tanstack/react-query";
import { api, given } from "../wire/client";
import { type Role, readProvider } from "../wire/nouns";

const SELDOM = { staleTime: 5 * 60_000 };

export function useRoles(): readonly Role[] {
  const { data } = useQuery({ queryKey: ["roles"], queryFn: () => given(api.GET("/roles")), ...SELDOM });
  return data?.roles ?? NO_ROLES;
}

export function useProviders() {
  return useQuery({
    queryKey: ["providers"],
    queryFn: async () => (await given(api.GET("/providers"))).providers.map(readProvider),
    refetchInterval: 30_000, // local model servers are found while it runs
  });
}

/** `staleTime` 0 for who shows what the folders supply: files change under the page. */
export function useWorkspaces(staleTime = SELDOM.staleTime) {
  return useQuery({ queryKey: ["workspaces"], queryFn: async () => (await given(api.GET("/workspaces"))).workspaces, staleTime });
}

/** What there is to run in this chat; asked for when somebody looks, since files change under it. */
export function useWorkflows(chatId: string, wanted = true) {
  return useQuery({
    queryKey: ["workflows", chatId],
    queryFn: () => given(api.GET("/workflows", { params: { query: { context_id: chatId } } })),
    staleTime: 5_000,
    enabled: wanted,
  });
}

/** What the chat's folder tells agents. Asked for whenever the agent comes to rest: it may have changed the file. */
export function useInstructions(chatId: string, wanted: boolean) {
  return useQuery({
    queryKey: ["instructions", chatId],
    queryFn: async () => (await given(api.GET("/instructions", { params: { query: { context_id: chatId } } }))).instructions,
    staleTime: 0,
    enabled: wanted,
  });
}

export function useSettings() {
  return useQuery({ queryKey: ["settings"], queryFn: () => given(api.GET("/settings")), ...SELDOM });
}

/** The paths that this server has: a screen for what is not there is not shown. */
export function useOffers(): ReadonlySet<string> {
  const { data } = useQuery({
    queryKey: ["offers"],
    queryFn: async () => {
      const response = await fetch("/openapi.json", { credentials: "same-origin" });
      const described = (await response.json()) as { paths?: Record<string, unknown> };
      return new Set(Object.keys(described.paths ?? {}));
    },
    staleTime: Infinity,
  });
  return data ?? NOTHING;
}

const NO_ROLES: readonly Role[] = [];
const NOTHING: ReadonlySet<string> = new Set();
