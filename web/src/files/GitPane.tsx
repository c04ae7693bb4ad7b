// Git beside the chat: the branch, what differs from the last commit, a commit of what is chosen, a new branch or worktree, a push.

import { useQueryClient } from "@tanstack/react-query";
import { Download, FolderGit2, GitBranch, Plus, Upload } from "lucide-react";
import { type FormEvent, useState } from "react";
import { newChat } from "../state/acts";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/git";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { VERBATIM } from "../ui/Field";
import { useRefusal } from "../ui/refusal";
import { useReadAgain } from "./acts";
import { ChangedFiles, CommitForm, type TurnedFiles } from "./CommitForm";
import { OperationNote, PullDialog, Stashes, SwitchForm } from "./GitActions";
import { GitHistory } from "./GitHistory";
import { createBranch, type GitState, useGit } from "./gitActs";
import { IdentityForm } from "./IdentityForm";
import { PushDialog } from "./PushDialog";
import { WorktreeForm } from "./WorktreeForm";

export function GitPane({ chatId }: { chatId: string }) {
  const { data: state, error } = useGit(chatId);
  const [turned, setTurned] = useState<TurnedFiles>({}); // outlives a commit: what it left out stays out
  if (error) return <p className="p-4 text-sm text-bad">{error.message}</p>;
  if (!state) return <p className="p-4 text-sm text-ink-3">{t.reading}</p>;
  if (state.reason)
    return (
      <p lang="en" className="p-6 text-center text-sm text-ink-2">
        {state.reason}
      </p>
    );
  return (
    <div className="min-h-0 flex-1 space-y-4 overflow-y-auto p-3">
      <Branch chatId={chatId} state={state} />
      <OperationNote chatId={chatId} state={state} />
      {state.files.length === 0 ? (
        <p className="text-sm text-ink-2">{t.nothingToCommit}</p>
      ) : (
        <>
          {!(state.identity.name && state.identity.email) && <IdentityForm chatId={chatId} identity={state.identity} />}
          {state.operation ? (
            <ChangedFiles chatId={chatId} state={state} />
          ) : (
            <CommitForm key={state.head ?? ""} chatId={chatId} state={state} turned={turned} setTurned={setTurned} />
          )}
        </>
      )}
      {state.head && (
        <>
          <Beyond chatId={chatId} pulls={!state.operation} />
          {!state.operation && <Stashes chatId={chatId} />}
          <GitHistory chatId={chatId} />
        </>
      )}
    </div>
  );
}

/** What leads out of this folder: a push, and a chat in a worktree of its own. */
function Beyond({ chatId, pulls }: { chatId: string; pulls: boolean }) {
  const [open, setOpen] = useState<"pull" | "push" | "worktree" | null>(null);
  const queries = useQueryClient();
  const work = async (root: string) => {
    const chat = await newChat({ workspace: root });
    void queries.invalidateQueries({ queryKey: CHATS });
    setOpen(null);
    location.hash = `#/chat/${chat.id}`;
  };
  return (
    <div className="flex flex-wrap gap-2">
      {pulls && (
        <Button
          needs="POST /context/{chat_id}/git/pull"
          icon={<Download size={15} aria-hidden />}
          onClick={() => setOpen("pull")}
        >
          {t.pullFrom}
        </Button>
      )}
      <Button
        needs="POST /context/{chat_id}/git/push"
        icon={<Upload size={15} aria-hidden />}
        onClick={() => setOpen("push")}
      >
        {t.pushTo}
      </Button>
      <Button
        needs="POST /workspaces/worktrees"
        icon={<FolderGit2 size={15} aria-hidden />}
        onClick={() => setOpen("worktree")}
      >
        {t.workInAWorktree}
      </Button>
      {open === "pull" && <PullDialog chatId={chatId} onClose={() => setOpen(null)} />}
      {open === "push" && <PushDialog chatId={chatId} onClose={() => setOpen(null)} />}
      <Dialog title={t.worktreeTitle} open={open === "worktree"} onClose={() => setOpen(null)}>
        <WorktreeForm where={{ context_id: chatId }} onMade={work} />
      </Dialog>
    </div>
  );
}

/** Against the same branch of origin, as it was last pulled or pushed; nothing where both are the same. */
export function AheadAndBehind({ state: { ahead, behind } }: { state: Pick<GitState, "ahead" | "behind"> }) {
  const told = [ahead ? t.ahead(ahead) : "", behind ? t.behind(behind) : ""].filter((part) => part !== "");
  if (told.length === 0) return null;
  return (
    <span title={t.aheadHint} className="shrink-0 text-xs text-ink-2 tabular-nums">
      {told.join(" · ")}
    </span>
  );
}

function Branch({ chatId, state }: { chatId: string; state: GitState }) {
  const [name, setName] = useState<string | null>(null);
  const [switching, setSwitching] = useState(false);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const canMove = name === null && !switching && state.head && !state.operation;
  const create = async (event: FormEvent) => {
    event.preventDefault();
    if (!name?.trim() || !(await attempt(createBranch(chatId, name.trim())))) return;
    setName(null);
    readAgain();
  };
  return (
    <section aria-label={t.branch}>
      <p className="flex items-center gap-2 text-sm">
        <GitBranch size={16} aria-hidden className="shrink-0 text-ink-3" />
        <strong className="min-w-0 truncate">{state.branch ?? t.detached}</strong>
        {state.head && <code className="font-mono text-xs text-ink-3 max-sm:hidden">{state.head.slice(0, 10)}</code>}
        <AheadAndBehind state={state} />
        {canMove && (
          <Button
            needs="POST /context/{chat_id}/git/switch"
            look="quiet"
            className="ml-auto !min-h-8 thumb:!min-h-11 !py-0.5"
            onClick={() => setSwitching(true)}
          >
            {t.switchBranchOpen}
          </Button>
        )}
        {canMove && (
          <Button
            needs="POST /context/{chat_id}/git/branch"
            look="quiet"
            className="!min-h-8 thumb:!min-h-11 !py-0.5"
            icon={<Plus size={14} aria-hidden />}
            onClick={() => setName("")}
          >
            {t.newBranch}
          </Button>
        )}
      </p>
      {switching && <SwitchForm chatId={chatId} onDone={() => setSwitching(false)} />}
      {name !== null && (
        <form onSubmit={(event) => void create(event)} className="mt-2 flex flex-wrap gap-2">
          <input
            aria-label={t.branchName}
            placeholder={t.branchName}
            {...VERBATIM}
            value={name}
            ref={(node) => node?.focus()}
            onChange={({ target }) => setName(target.value)}
            className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3 text-sm thumb:min-h-11"
          />
          <Button type="submit" look="primary" disabled={!name.trim()}>
            {t.create}
          </Button>
          <Button look="quiet" onClick={() => setName(null)}>
            {t.cancel}
          </Button>
          {refusal && <div className="w-full">{refusal}</div>}
        </form>
      )}
    </section>
  );
}
