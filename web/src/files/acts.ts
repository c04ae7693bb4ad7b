// Files over REST: folders by the page, one file, saving, net changes and taking them back.
import { type QueryClient, type QueryKey, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type Entry = components["schemas"]["FolderEntryResponse"];
export type Folder = components["schemas"]["FolderResponse"];
export type ShownFile = components["schemas"]["FileResponse"];
export type NetChange = components["schemas"]["NetChangeResponse"];

const PAGE = 500;

/** Each of these folders, as many pages of it as are wanted. */
export function useFolders(chatId: string, pages: ReadonlyMap<string, number>) {
  const wanted = [...pages];
  const found = useQueries({
    queries: wanted.map(([path, count]) => ({
      queryKey: ["folder", chatId, path, count],
      queryFn: () => readFolder(chatId, path, count),
      placeholderData: (before: Folder | undefined) => before,
      retry: false,
    })),
  });
  return new Map(wanted.map(([path], at) => [path, found[at]!]));
}

async function readFolder(chatId: string, path: string, pages: number): Promise<Folder> {
  let folder: Folder | null = null;
  for (let page = 0; page < pages && (page === 0 || folder?.next); page++) {
    const query = { path, limit: PAGE, cursor: folder?.next ?? null };
    const next: Folder = await given(
      api.GET("/context/{chat_id}/files", { params: { path: { chat_id: chatId }, query } }),
    );
    folder = folder ? { ...next, entries: [...folder.entries, ...next.entries] } : next;
  }
  return folder!;
}

export function useFile(chatId: string, path: string, reveal: boolean) {
  return useQuery({
    queryKey: ["file", chatId, path, reveal],
    queryFn: () => readFile(chatId, path, reveal),
    retry: false,
  });
}

export function readFile(chatId: string, path: string, reveal: boolean): Promise<ShownFile> {
  return given(api.GET("/context/{chat_id}/file", { params: { path: { chat_id: chatId }, query: { path, reveal } } }));
}

export function saveFile(chatId: string, path: string, text: string, sha256: string | null) {
  return given(
    api.PUT("/context/{chat_id}/file", { params: { path: { chat_id: chatId } }, body: { path, text, sha256 } }),
  );
}

export function useChanges(chatId: string) {
  return useQuery({
    queryKey: ["changes", chatId],
    queryFn: () =>
      given(api.GET("/context/{chat_id}/changes", { params: { path: { chat_id: chatId }, query: { limit: 200 } } })),
    retry: false,
  });
}

export function useChange(chatId: string, change: NetChange, reveal: boolean) {
  const query = { path: change.path, reveal };
  return useQuery({
    queryKey: ["change", chatId, change.path, change.state, reveal],
    queryFn: () => given(api.GET("/context/{chat_id}/changes/file", { params: { path: { chat_id: chatId }, query } })),
    retry: false,
  });
}

export function revert(chatId: string, path: string, state: string, hunks: number[] | null) {
  return given(
    api.POST("/context/{chat_id}/changes/revert", {
      params: { path: { chat_id: chatId } },
      body: { path, state, hunks },
    }),
  );
}

/** After a change that somebody else may have made too: what is shown is read again. */
export function useReadAgain(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    for (const key of ["folder", "file", "changes", "git"]) void invalidate(queries, [key]);
  }, [queries]);
}

/** What is on its way for the first time may be older than the change, and the library would take it for new: it is read once more. */
async function invalidate(queries: QueryClient, queryKey: QueryKey): Promise<void> {
  const firstReads = queries
    .getQueryCache()
    .findAll({ queryKey, fetchStatus: "fetching" })
    .filter(({ state }) => state.data === undefined);
  await queries.invalidateQueries({ queryKey });
  for (const query of firstReads) void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
}
