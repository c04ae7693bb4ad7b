// Texts of git beside the chat.
import { translated } from "./language";

export const en = {
  reading: "Reading…",
  branch: "Branch",
  detached: "No branch (detached HEAD)",
  newBranch: "New branch",
  branchName: "Name of the new branch",
  create: "Create",
  cancel: "Cancel",
  nothingToCommit: "Nothing differs from the last commit.",
  changedFiles: "Files that differ from the last commit",
  include: (path: string) => `Include ${path} in the commit`,
  notAllListed: "More files changed than are listed here.",
  message: "Commit message",
  commit: (files: string, one: boolean) => (one ? "Commit 1 file" : `Commit ${files} files`),
  committed: (files: string, one: boolean) => (one ? "Committed 1 file." : `Committed ${files} files.`),
  atLeast: (count: number) => `${count}+`,
  filesInFolder: (files: string, one: boolean) => (one ? "1 file" : `${files} files`),
  committedAsYou: "Committed in your name. Hooks are not run.",
  push: "Push",
  pushTo: "Push…",
  pushTitle: (branch: string) => `Push ${branch}`,
  remote: "Remote",
  address: "Address",
  commits: "Commits",
  newBranchThere: "The remote does not have this branch yet.",
  nothingToPush: "As far as is known, the remote has every commit.",
  moreCommits: "More commits are pushed than are listed here.",
  pushedAsYou: "Pushed with your own credentials, never by force. Hooks and settings of the repository are not used.",
  noRemotes: "No remote is set up in this repository.",
  pushing: "Pushing…",
  pushed: (remote: string) => `Pushed to ${remote}.`,
  workInAWorktree: "Work in a new worktree…",
  worktreeTitle: "Work in a new worktree",
  aboutWorktrees:
    "A new branch is checked out in a new folder beside this one. A chat works there without disturbing the files here.",
  createWorktree: "Create worktree",
  statuses: {
    added: "new",
    modified: "changed",
    deleted: "deleted",
    untracked: "not tracked",
    conflicted: "in conflict",
  },
  newFile: "A new file. Open it to read it.",
  newFolder: "A new folder. If you choose it, every file in it that git does not ignore is committed.",
  reveal: "Show it",
  noDifference: "No difference in the text.",
};

export type Texts = typeof en;
export const t = translated("git", en);
