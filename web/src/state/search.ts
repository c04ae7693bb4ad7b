// Full-text search over the messages of all chats.
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { api, given } from "../wire/client";
import type { SearchResults } from "../wire/nouns";

const SHORTEST = 2;

/** Messages with these words, newest first, and a way to read more of them. Fewer than two letters look for nothing. */
export function useMessageSearch(words: string) {
  const query = useInfiniteQuery({
    queryKey: ["search", words],
    queryFn: ({ pageParam }): Promise<SearchResults> =>
      given(api.GET("/search", { params: { query: { q: words.slice(0, 500), limit: 20, before: pageParam } } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    enabled: words.length >= SHORTEST,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
  });
  const results = words.length >= SHORTEST ? (query.data?.pages ?? []).flatMap((page) => page.results) : [];
  return { ...query, results };
}
