// Git over REST: what the git page reads and asks for.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type GitState = components["schemas"]["GitStateResponse"];
export type GitFile = components["schemas"]["GitFileResponse"];

export type GitCommit = components["schemas"]["GitCommitResponse"];
export type MergeResult = components["schemas"]["MergeResponse"];
export type Stash = components["schemas"]["GitStashResponse"];
export type ChosenHunks = components["schemas"]["ChosenHunksRequest"];
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

interface CommitContent {
  message: string;
  paths: string[];
  hunks: ChosenHunks[];
  amend: boolean;
  head: string | null;
}

export function commit(chatId: string, body: CommitContent) {
  return given(api.POST("/context/{chat_id}/git/commit", { params: at(chatId), body }));
}

const at = (chat_id: string) => ({ path: { chat_id } });

export function useGitLog(chatId: string) {
  return useInfiniteQuery({
    queryKey: ["git", chatId, "log"],
    initialPageParam: { tip: null as string | null, skip: 0 },
    queryFn: ({ pageParam: query }) =>
      given(api.GET("/context/{chat_id}/git/log", { params: { ...at(chatId), query } })),
    getNextPageParam: ({ last, tip, commits }, _, { skip }) => (last ? null : { tip, skip: skip + commits.length }),
    retry: false,
  });
}

const commitAt = (chat_id: string, commit: string) => ({ path: { chat_id, commit } });

export function readCommit(chatId: string, id: string) {
  return given(api.GET("/context/{chat_id}/git/commits/{commit}", { params: commitAt(chatId, id) }));
}

export function useGitCommit(chatId: string, id: string) {
  return useQuery({ queryKey: ["git-commit", chatId, id], queryFn: () => readCommit(chatId, id), retry: false });
}

export function useGitCommitDifference(chatId: string, id: string, path: string, reveal: boolean) {
  const params = { ...commitAt(chatId, id), query: { path, reveal } };
  return useQuery({
    queryKey: ["git-commit", chatId, id, path, reveal],
    queryFn: () => given(api.GET("/context/{chat_id}/git/commits/{commit}/diff", { params })),
    retry: false,
  });
}

export function useBranches(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId, "branches"],
    queryFn: () => given(api.GET("/context/{chat_id}/git/branches", { params: at(chatId) })),
    retry: false,
  });
}

export function switchBranch(chatId: string, branch: string) {
  return given(api.POST("/context/{chat_id}/git/switch", { params: at(chatId), body: { branch } }));
}

export function usePullSources(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId, "pull"],
    queryFn: () => given(api.GET("/context/{chat_id}/git/pull", { params: at(chatId) })),
    retry: false,
  });
}

export function pull(chatId: string, source: { remote: string; address: string }, branch: string, head: string) {
  const body = { remote: source.remote, address: source.address, branch, head };
  return given(api.POST("/context/{chat_id}/git/pull", { params: at(chatId), body }));
}

export function finishMerge(chatId: string) {
  return given(api.POST("/context/{chat_id}/git/merge", { params: at(chatId) }));
}

export function abortMerge(chatId: string) {
  return given(api.DELETE("/context/{chat_id}/git/merge", { params: at(chatId) }));
}

export function useStashes(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId, "stashes"],
    queryFn: () => given(api.GET("/context/{chat_id}/git/stashes", { params: at(chatId) })),
    retry: false,
  });
}

export function saveStash(chatId: string, message: string) {
  return given(api.POST("/context/{chat_id}/git/stashes", { params: at(chatId), body: { message } }));
}

export function applyStash(chatId: string, { number, commit }: Stash) {
  return given(api.POST("/context/{chat_id}/git/stashes/apply", { params: at(chatId), body: { number, commit } }));
}

export function dropStash(chatId: string, { number, commit }: Stash) {
  return given(api.POST("/context/{chat_id}/git/stashes/drop", { params: at(chatId), body: { number, commit } }));
}

export function useHooks(chatId: string) {
  return useQuery({
    queryKey: ["git", chatId, "hooks"],
    queryFn: () => given(api.GET("/context/{chat_id}/git/hooks", { params: at(chatId) })),
    retry: false,
  });
}

export function allowHooks(chatId: string, hooks: { name: string; sha256: string }[]) {
  return given(api.PUT("/context/{chat_id}/git/hooks", { params: at(chatId), body: { hooks } }));
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
