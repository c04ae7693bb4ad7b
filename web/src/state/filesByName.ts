// Files and folders of a chat's workspace by some letters of their path, the best first.
import { useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

const NONE: readonly components["schemas"]["FoundPathResponse"][] = [];

/** Nothing without a chat. */
export function useFilesByName(chatId: string | null, q: string, limit: number) {
  const { data } = useQuery({
    queryKey: ["files by name", chatId, q, limit],
    queryFn: async () => {
      const params = { path: { chat_id: chatId ?? "" }, query: { q, limit } };
      return (await given(api.GET("/context/{chat_id}/files/search", { params }))).results;
    },
    enabled: chatId !== null,
    staleTime: 2_000,
    gcTime: 30_000,
    retry: false,
  });
  return (chatId && data) || NONE;
}
