// Git beside the chat: the branch, what differs from the last commit, a commit of what is chosen, a new branch or worktree, a push.

import { useQueryClient } from "@tanstack/react-query";
import { FolderGit2, GitBranch, GitCommitHorizontal, KeyRound, Plus, Upload } from "lucide-react";
import { type FormEvent, useState } from "react";
import { DiffView } from "../content/DiffView";
import { PathButton } from "../content/PathLink";
import { newChat } from "../state/acts";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/git";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { VERBATIM } from "../ui/Field";
import { Fold } from "../ui/Fold";
import { useRefusal } from "../ui/refusal";
import { say } from "../ui/toasts";
import { useReadAgain } from "./acts";
import { commit, createBranch, type GitFile, type GitState, useGit, useGitDifference } from "./gitActs";
import { IdentityForm } from "./IdentityForm";
import { PushDialog } from "./PushDialog";
import { WorktreeForm } from "./WorktreeForm";

const FEW = 5; // files that are chosen one by one
const SHOWN = 30; // files before the message and the button, and as many more as are asked for at once: 200
const MORE = 200;

export function GitPane({ chatId }: { chatId: string }) {
  const { data: state, error } = useGit(chatId);
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
      {state.files.length === 0 ? (
        <p className="text-sm text-ink-2">{t.nothingToCommit}</p>
      ) : (
        <>
          {!(state.identity.name && state.identity.email) && <IdentityForm chatId={chatId} identity={state.identity} />}
          <CommitForm key={state.head ?? ""} chatId={chatId} state={state} />
        </>
      )}
      {state.head && <Beyond chatId={chatId} />}
    </div>
  );
}

/** What leads out of this folder: a push, and a chat in a worktree of its own. */
function Beyond({ chatId }: { chatId: string }) {
  const [open, setOpen] = useState<"push" | "worktree" | null>(null);
  const queries = useQueryClient();
  const work = async (root: string) => {
    const chat = await newChat({ workspace: root });
    void queries.invalidateQueries({ queryKey: CHATS });
    setOpen(null);
    location.hash = `#/chat/${chat.id}`;
  };
  return (
    <div className="flex flex-wrap gap-2">
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
      {open === "push" && <PushDialog chatId={chatId} onClose={() => setOpen(null)} />}
      <Dialog title={t.worktreeTitle} open={open === "worktree"} onClose={() => setOpen(null)}>
        <WorktreeForm where={{ context_id: chatId }} onMade={work} />
      </Dialog>
    </div>
  );
}

function Branch({ chatId, state }: { chatId: string; state: GitState }) {
  const [name, setName] = useState<string | null>(null);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
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
        {state.head && <code className="font-mono text-xs text-ink-3">{state.head.slice(0, 10)}</code>}
        {name === null && state.head && (
          <Button
            needs="POST /context/{chat_id}/git/branch"
            look="quiet"
            className="ml-auto !min-h-8 thumb:!min-h-11 !py-0.5"
            icon={<Plus size={14} aria-hidden />}
            onClick={() => setName("")}
          >
            {t.newBranch}
          </Button>
        )}
      </p>
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

/** The server says what is chosen at first: a person adds by hand what may hold secrets, and untracked files of which the chat knows nothing. */
export function CommitForm({ chatId, state }: { chatId: string; state: GitState }) {
  const [turned, setTurned] = useState<Readonly<Record<string, boolean>>>({}); // what the person chose, by path
  const [words, setWords] = useState<string | null>(null); // what the person typed: a newer proposal does not replace it
  const [sending, setSending] = useState(false);
  const [shown, setShown] = useState(SHOWN);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const message = words ?? state.proposed_message;
  const isChosen = ({ path, preselected }: GitFile) => turned[path] ?? preselected;
  const chosen = state.files.filter(isChosen);
  const files = countFiles(chosen);
  const hidden = state.files.length - shown;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    const paths = chosen.map(({ path }) => path);
    const done = await attempt(commit(chatId, message, paths, state.head));
    setSending(false);
    readAgain();
    if (!done) return;
    setWords(null);
    setTurned({});
    say(t.committed(files.text, files.one));
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-3">
      {state.files.length > FEW && <ChooseAll files={state.files} isChosen={isChosen} onTurn={setTurned} />}
      <ul aria-label={t.changedFiles} className="space-y-0.5">
        {state.files.slice(0, shown).map((file) => (
          <FileLine
            key={file.path}
            chatId={chatId}
            file={file}
            chosen={isChosen(file)}
            onTurn={() => setTurned((now) => ({ ...now, [file.path]: !isChosen(file) }))}
          />
        ))}
      </ul>
      {hidden > 0 && (
        <Button look="quiet" onClick={() => setShown(shown + MORE)}>
          {t.showMore(number(Math.min(hidden, MORE)), number(state.files.length))}
        </Button>
      )}
      {!state.complete && <p className="text-xs text-ink-3">{t.notAllListed}</p>}
      <textarea
        aria-label={t.message}
        rows={4}
        value={message}
        onChange={({ target }) => setWords(target.value)}
        className="w-full rounded-lg border border-line-strong bg-surface px-3 py-2 text-sm"
      />
      {refusal}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          needs="POST /context/{chat_id}/git/commit"
          type="submit"
          look="primary"
          icon={<GitCommitHorizontal size={15} aria-hidden />}
          disabled={sending || chosen.length === 0 || !message.trim()}
        >
          {t.commit(files.text, files.one)}
        </Button>
        <span className="text-xs text-ink-3">
          {state.identity.name ? t.committedAs(state.identity.name) : ""}{" "}
          {state.hooks_not_run.length > 0 && t.hooksNotRun(state.hooks_not_run.join(", "))}
        </span>
      </div>
    </form>
  );
}

/** What may hold secrets is chosen one by one only. */
function ChooseAll({
  files,
  isChosen,
  onTurn,
}: {
  files: readonly GitFile[];
  isChosen: (file: GitFile) => boolean;
  onTurn: (chosen: Readonly<Record<string, boolean>>) => void;
}) {
  const some = files.some(isChosen);
  const all = files.every((file) => file.protected || isChosen(file));
  const turn = () => onTurn(Object.fromEntries(files.map((file) => [file.path, !all && !file.protected])));
  return (
    <label className="flex min-h-8 items-center gap-2 text-sm text-ink-2 thumb:min-h-11">
      <input
        type="checkbox"
        checked={all}
        ref={(node) => {
          if (node) node.indeterminate = some && !all;
        }}
        onChange={turn}
      />
      {t.allFiles(number(files.length))}
    </label>
  );
}

/** How many files these lines are: an untracked folder is one line. */
function countFiles(lines: readonly GitFile[]): { text: string; one: boolean } {
  const count = lines.reduce((sum, { file_count }) => sum + (file_count ?? 1), 0);
  const complete = lines.every(({ file_count_complete }) => file_count_complete);
  return { text: complete ? number(count) : t.atLeast(number(count)), one: complete && count === 1 };
}

function FileLine({
  chatId,
  file,
  chosen,
  onTurn,
}: {
  chatId: string;
  file: GitFile;
  chosen: boolean;
  onTurn: () => void;
}) {
  const inside = file.file_count === null ? null : countFiles([file]);
  return (
    <li className="flex items-start gap-2">
      <input
        type="checkbox"
        aria-label={t.include(file.shown)}
        checked={chosen}
        onChange={onTurn}
        className="mt-2 thumb:mt-3"
      />
      <Fold
        className="min-w-0 flex-1"
        beside={file.status !== "deleted" && !file.path.endsWith("/") && <PathButton path={file.path} />}
        summary={
          <span className="flex min-w-0 flex-1 items-center gap-2 text-[13px]">
            <code className="min-w-0 truncate font-mono text-ink">{file.shown}</code>
            {file.protected && (
              <KeyRound
                size={13}
                role="img"
                aria-label={file.path.endsWith("/") ? t.protectedFolder : t.protectedFile}
                className="shrink-0 text-warn"
              />
            )}
            {inside && <span className="shrink-0 text-xs text-ink-3">{t.filesInFolder(inside.text, inside.one)}</span>}
            <span className="ml-auto shrink-0 text-xs text-ink-3">{t.statuses[file.status]}</span>
          </span>
        }
      >
        {() => <Difference chatId={chatId} file={file} />}
      </Fold>
    </li>
  );
}

function Difference({ chatId, file }: { chatId: string; file: GitFile }) {
  const [reveal, setReveal] = useState(false);
  const { data, error } = useGitDifference(chatId, file.path, reveal);
  if (file.status === "untracked")
    return <p className="text-sm text-ink-3">{file.path.endsWith("/") ? t.newFolder : t.newFile}</p>;
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="text-sm text-ink-3">{t.reading}</p>;
  if (data.diff === null)
    return (
      <Button className="!min-h-8 thumb:!min-h-11" onClick={() => setReveal(true)}>
        {t.reveal}
      </Button>
    );
  return data.diff ? <DiffView text={data.diff} /> : <p className="text-sm text-ink-3">{t.noDifference}</p>;
}
