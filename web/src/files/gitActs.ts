// Git over REST: the state, one difference, a commit, a new branch, a worktree, a push.
import { useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type GitState = components["schemas"]["GitStateResponse"];
export type GitFile = components["schemas"]["GitFileResponse"];

export type PushTarget = components["schemas"]["PushTargetResponse"];

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

export function setIdentity(chatId: string, name: string, email: string) {
  const params = { path: { chat_id: chatId } };
  return given(api.PUT("/context/{chat_id}/git/identity", { params, body: { name, email } }));
}

export function createBranch(chatId: string, name: string) {
  return given(api.POST("/context/{chat_id}/git/branch", { params: { path: { chat_id: chatId } }, body: { name } }));
}

/** Where the branch could be pushed; no remote is asked. */
export function usePushOffer(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId, "push"],
    queryFn: () => given(api.GET("/context/{chat_id}/git/push", { params: { path: { chat_id: chatId } } })),
    retry: false,
  });
}

export function push(chatId: string, target: PushTarget, branch: string, head: string) {
  const body = { remote: target.remote, address: target.address, branch, head };
  return given(api.POST("/context/{chat_id}/git/push", { params: { path: { chat_id: chatId } }, body }));
}

/** A new branch in a new folder beside the workspace, or beside that of a chat. */
export async function createWorktree(branch: string, where: { workspace?: string; context_id?: string }) {
  return (await given(api.POST("/workspaces/worktrees", { body: { branch, ...where } }))).root;
}
