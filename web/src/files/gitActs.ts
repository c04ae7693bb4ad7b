// Git over REST: the state, one difference, a commit, a new branch.
import { useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type GitState = components["schemas"]["GitStateShape"];
export type GitFile = components["schemas"]["GitFileShape"];

export function useGit(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId],
    queryFn: () => given(api.GET("/context/{chat_id}/git", { params: { path: { chat_id: chatId } } })),
    retry: false,
  });
}

export function useGitDifference(chatId: string, path: string, reveal: boolean) {
  const query = { path, reveal };
  return useQuery({
    queryKey: ["git", chatId, "diff", path, reveal],
    queryFn: () => given(api.GET("/context/{chat_id}/git/diff", { params: { path: { chat_id: chatId }, query } })),
    retry: false,
  });
}

export function commit(chatId: string, message: string, paths: string[], head: string | null) {
  const params = { path: { chat_id: chatId } };
  return given(api.POST("/context/{chat_id}/git/commit", { params, body: { message, paths, head } }));
}

export function createBranch(chatId: string, name: string) {
  return given(api.POST("/context/{chat_id}/git/branch", { params: { path: { chat_id: chatId } }, body: { name } }));
}
