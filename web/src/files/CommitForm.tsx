// A commit of the files that a person chooses, or of some hunks of them.

import { GitCommitHorizontal, KeyRound } from "lucide-react";
import { type Dispatch, type FormEvent, type SetStateAction, useRef, useState } from "react";
import { DiffView } from "../content/DiffView";
import { PathButton } from "../content/PathLink";
import { t } from "../texts/git";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { useReadAgain } from "./acts";
import { HooksDialog } from "./GitActions";
import { type ChosenHunks, commit, type GitFile, type GitState, readCommit, useGitDifference } from "./gitActs";

const FEW = 5; // files that are chosen one by one
const SHOWN = 30; // files before the message and the button, and as many more as are asked for at once: 200
const MORE = 200;

/** What the person chose or left out, by path. */
export type TurnedFiles = Readonly<Record<string, boolean>>;

interface Props {
  chatId: string;
  state: GitState;
  turned: TurnedFiles;
  setTurned: Dispatch<SetStateAction<TurnedFiles>>;
}

/** The server says what is chosen at first: a person adds by hand what may hold secrets, and untracked files of which the chat knows nothing. */
export function CommitForm({ chatId, state, turned, setTurned }: Props) {
  const [words, setWords] = useState<string | null>(null); // what the person typed: a newer proposal does not replace it
  const [hunks, setHunks] = useState<Readonly<Record<string, ChosenHunks>>>({}); // of files of which not all is committed
  const [amend, setAmend] = useState(false);
  const amends = useRef(false); // as it is when the last commit's message arrives
  const [showsLastMessage, setShowsLastMessage] = useState(false);
  const [asksForHooks, setAsksForHooks] = useState(false);
  const [sending, setSending] = useState(false);
  const [shown, setShown] = useState(SHOWN);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const message = words ?? state.proposed_message;
  const isChosen = ({ path, preselected }: GitFile) => turned[path] ?? preselected;
  const chosen = state.files.filter(isChosen);
  const files = countFiles(chosen);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    const paths = chosen.map(({ path }) => path);
    const content = {
      message,
      paths: paths.filter((path) => !hunks[path]),
      hunks: paths.flatMap((path) => hunks[path] ?? []),
      amend,
      head: state.head,
    };
    const done = await attempt(commit(chatId, content));
    setSending(false);
    readAgain();
    if (!done) return;
    setWords(null);
    const leftOut = state.files.filter((file) => !isChosen(file) || hunks[file.path]);
    setTurned(Object.fromEntries(leftOut.map(({ path }) => [path, false])));
    setHunks({});
    setAmend(false);
    say(amend ? t.amended : t.committed(files.text, files.one));
  };
  const turnAmend = async () => {
    amends.current = !amend;
    setAmend(!amend);
    if (amend && showsLastMessage) setWords(null);
    setShowsLastMessage(false);
    if (amend || words !== null || !state.head) return;
    const last = await readCommit(chatId, state.head).catch(() => null); // its message is what is changed
    if (!last || !amends.current) return;
    setWords((now) => now ?? [last.subject, last.body].filter(Boolean).join("\n\n"));
    setShowsLastMessage(true);
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
            hunks={hunks[file.path]}
            onHunks={(some) => {
              setHunks(({ [file.path]: _, ...others }) => (some ? { ...others, [file.path]: some } : others));
              setTurned((now) => ({ ...now, [file.path]: true }));
            }}
          />
        ))}
      </ul>
      <MoreFiles state={state} shown={shown} onMore={() => setShown(shown + MORE)} />
      <textarea
        aria-label={t.message}
        placeholder={t.messageHint}
        rows={4}
        value={message}
        onChange={({ target }) => setWords(target.value)}
        className="w-full rounded-lg border border-line-strong bg-surface px-3 py-2 text-sm"
      />
      {state.head && (
        <label className="flex min-h-8 items-center gap-2 text-sm text-ink-2 thumb:min-h-11">
          <input type="checkbox" checked={amend} onChange={() => void turnAmend()} />
          {t.amend}
        </label>
      )}
      {refusal}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          needs="POST /context/{chat_id}/git/commit"
          type="submit"
          look="primary"
          icon={<GitCommitHorizontal size={15} aria-hidden />}
          disabled={sending || (chosen.length === 0 && !amend) || !message.trim()}
        >
          {amend ? t.amend : t.commit(files.text, files.one)}
        </Button>
        <span className="text-xs text-ink-3">
          {state.identity.name ? t.committedAs(state.identity.name) : ""}{" "}
          {state.hooks_run.length > 0 && t.hooksRun(state.hooks_run.join(", "))}{" "}
          {state.hooks_not_run.length > 0 && t.hooksNotRun(state.hooks_not_run.join(", "))}
        </span>
        {(state.hooks_offered || state.hooks_run.length > 0) && (
          <Button needs="PUT /context/{chat_id}/git/hooks" look="quiet" onClick={() => setAsksForHooks(true)}>
            {t.chooseHooks}
          </Button>
        )}
        {asksForHooks && <HooksDialog chatId={chatId} onClose={() => setAsksForHooks(false)} />}
      </div>
    </form>
  );
}

/** While git is in the middle of something, files are looked at and not chosen: a merge takes all of them. */
export function ChangedFiles({ chatId, state }: { chatId: string; state: GitState }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <div className="space-y-3">
      <ul aria-label={t.changedFiles} className="space-y-0.5">
        {state.files.slice(0, shown).map((file) => (
          <li key={file.path} className="flex items-start gap-2">
            <FileFold chatId={chatId} file={file} />
          </li>
        ))}
      </ul>
      <MoreFiles state={state} shown={shown} onMore={() => setShown(shown + MORE)} />
    </div>
  );
}

function MoreFiles({ state, shown, onMore }: { state: GitState; shown: number; onMore: () => void }) {
  const hidden = state.files.length - shown;
  return (
    <>
      {hidden > 0 && (
        <Button look="quiet" onClick={onMore}>
          {t.showMore(number(Math.min(hidden, MORE)), number(state.files.length))}
        </Button>
      )}
      {!state.complete && <p className="text-xs text-ink-3">{t.notAllListed}</p>}
    </>
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

function FileLine({ chosen, onTurn, ...fold }: DifferenceProps & { chosen: boolean; onTurn: () => void }) {
  return (
    <li className="flex items-start gap-2">
      <input
        type="checkbox"
        aria-label={t.include(fold.file.shown)}
        checked={chosen}
        onChange={onTurn}
        className="mt-2 thumb:mt-3"
      />
      <FileFold {...fold} />
    </li>
  );
}

function FileFold({ chatId, file, hunks, onHunks }: DifferenceProps) {
  const inside = file.file_count === null ? null : countFiles([file]);
  return (
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
      {() => <Difference chatId={chatId} file={file} hunks={hunks} onHunks={onHunks} />}
    </Fold>
  );
}

interface DifferenceProps {
  chatId: string;
  file: GitFile;
  hunks?: ChosenHunks | undefined;
  /** Without it, no hunk is chosen here. */
  onHunks?: ((hunks: ChosenHunks | null) => void) | undefined;
}

function Difference({ chatId, file, hunks, onHunks }: DifferenceProps) {
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
  const parts = data.sha256 ? partsOf(data.diff) : [];
  if (onHunks && data.sha256 && parts.length > 1) {
    const { sha256 } = data;
    const all = parts.map((_, number) => number);
    const numbers = hunks?.sha256 === sha256 ? hunks.hunks : all;
    const turn = (number: number) => {
      const next = all.filter((one) => numbers.includes(one) !== (one === number));
      onHunks(next.length === 0 || next.length === all.length ? null : { path: file.path, sha256, hunks: next });
    };
    return parts.map((text, number) => (
      <div key={number}>
        <label className="flex min-h-8 items-center gap-2 text-xs text-ink-2 thumb:min-h-11">
          <input type="checkbox" checked={numbers.includes(number)} onChange={() => turn(number)} />
          {t.hunk(number + 1, parts.length)}
        </label>
        <DiffView text={text} label={t.part(number + 1, parts.length)} />
      </div>
    ));
  }
  return data.diff ? <DiffView text={data.diff} /> : <p className="text-sm text-ink-3">{t.noDifference}</p>;
}

/** Each hunk of a difference as one of its own. Lines of the text begin with another sign than a hunk. Pure. */
function partsOf(diff: string): string[] {
  const [header, ...hunks] = diff.split("\n@@ ");
  return hunks.map((hunk) => `${header}\n@@ ${hunk.replace(/\n$/, "")}\n`);
}
