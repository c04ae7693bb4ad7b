// What is asked over REST and seldom changes: roles, providers, workspaces, settings.
import { useQuery } from "@tanstack/react-query";
import { api, given } from "../wire/client";
import { type Disclosure, type Preset, type Provider, type Role, readProvider } from "../wire/nouns";

const SELDOM = { staleTime: 5 * 60_000 };

export function useRoles(): readonly Role[] {
  const { data } = useQuery({ queryKey: ["roles"], queryFn: () => given(api.GET("/roles")), ...SELDOM });
  return data?.roles ?? NO_ROLES;
}

/** What approving the plan that waits would grant, as the server lists it; null until it is there. A plan never changes. */
export function usePlanDisclosure(chatId: string, messageId: string | null): Disclosure | null {
  const { data } = useQuery({
    queryKey: ["plan disclosure", chatId, messageId],
    queryFn: () =>
      given(
        api.GET("/context/{chat_id}/plans/{message_id}/disclosure", {
          params: { path: { chat_id: chatId, message_id: messageId ?? "" } },
        }),
      ),
    staleTime: Infinity,
    enabled: messageId !== null,
  });
  return messageId === null ? null : (data ?? null);
}

export function useProviders() {
  return useQuery({
    queryKey: ["providers"],
    queryFn: async () => (await given(api.GET("/providers"))).providers.map(readProvider),
    refetchInterval: 30_000, // local model servers are found while it runs
  });
}

/** Servers that can be connected by name. */
export function usePresets() {
  return useQuery({
    queryKey: ["presets"],
    queryFn: async (): Promise<Preset[]> => (await given(api.GET("/providers"))).presets as Preset[],
    staleTime: Infinity,
  });
}

/** Whether the model that answers in this chat can be shown images; null is the one that answers by default. */
export function useSees(model: string | null): boolean {
  const { data: providers = [] } = useProviders();
  return sees(providers, model);
}

export function sees(providers: readonly Provider[], model: string | null): boolean {
  const standard = providers.find((one) => one.default);
  if (model === null) return standard ? accepts(standard, standard.default_model ?? standard.models[0] ?? AUTO) : false;
  const named = providers.find(({ name }) => model === name || model.startsWith(`${name}/`));
  if (named) return accepts(named, model.slice(named.name.length + 1) || (named.models[0] ?? AUTO));
  return providers.some(({ images }) => images.includes(model));
}

/** A model of which nothing is known is tried. */
function accepts({ images, no_images, tries_images }: Provider, model: string): boolean {
  return images.includes(model) || (tries_images && !no_images.includes(model));
}

const AUTO = "auto"; // a provider that names no models is asked what it has

/** `staleTime` 0 for who shows what the folders supply: files change under the page. */
export function useWorkspaces(staleTime = SELDOM.staleTime) {
  return useQuery({
    queryKey: ["workspaces"],
    queryFn: async () => (await given(api.GET("/workspaces"))).workspaces,
    staleTime,
  });
}

/** A chat, or where one would begin: a folder, or null for the default one. */
export type Ground = { chatId: string } | { workspace: string | null };

export function queryOf(ground: Ground): { context_id?: string; workspace?: string } {
  if ("chatId" in ground) return { context_id: ground.chatId };
  return ground.workspace ? { workspace: ground.workspace } : {};
}

/** What there is to run there; asked for when somebody looks, since files change under it. */
export function useWorkflows(ground: Ground, wanted = true) {
  const query = queryOf(ground);
  return useQuery({
    queryKey: ["workflows", query],
    queryFn: () => given(api.GET("/workflows", { params: { query } })),
    staleTime: 5_000,
    enabled: wanted,
  });
}

/** What the chat's folder tells agents. Asked for whenever the agent came to rest since the last `moment`: it may have changed the file. */
export function useInstructions(chatId: string, wanted: boolean, moment: number) {
  return useQuery({
    queryKey: ["instructions", chatId, moment],
    queryFn: async () =>
      (await given(api.GET("/instructions", { params: { query: { context_id: chatId } } }))).instructions,
    staleTime: 0,
    placeholderData: (before, asked) => (asked?.queryKey[1] === chatId ? before : undefined),
    gcTime: 10_000, // one entry a moment: the old ones are of no use
    enabled: wanted,
  });
}

/** `staleTime` 0 for who shows what is found on the machine: it changes beside the page. */
export function useSettings(staleTime = SELDOM.staleTime) {
  return useQuery({ queryKey: ["settings"], queryFn: () => given(api.GET("/settings")), staleTime });
}

const NO_ROLES: readonly Role[] = [];
