// What changes the files as git does: another branch, a pull, a merge that is in progress, stashes, and which hooks run.

import { Download, GitMerge, Package } from "lucide-react";
import { type FormEvent, useState } from "react";
import { visible } from "../content/visible";
import { t } from "../texts/git";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Field, INPUT } from "../ui/Field";
import { Fold } from "../ui/Fold";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { useReadAgain } from "./acts";
import {
  abortMerge,
  allowHooks,
  applyStash,
  dropStash,
  finishMerge,
  type GitState,
  type MergeResult,
  pull,
  saveStash,
  switchBranch,
  useBranches,
  useHooks,
  usePullSources,
  useStashes,
} from "./gitActs";

const ROW = "flex min-w-0 flex-wrap items-center gap-2";

/** Says what a pull or a stash brought: `done` is said of one without conflicts. */
function sayMerged(result: MergeResult, done: string): void {
  if (result.conflicts.length > 0) say(t.inConflict(result.conflicts.join(", ")));
  else say(result.new ? done : t.nothingNew);
}

export function SwitchForm({ chatId, onDone }: { chatId: string; onDone: () => void }) {
  const { data, error } = useBranches(chatId);
  const [branch, setBranch] = useState("");
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const others = data?.branches.filter(({ current }) => !current) ?? [];
  const chosen = branch || others[0]?.name;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!chosen || !(await attempt(switchBranch(chatId, chosen)))) return;
    readAgain();
    say(t.switched(chosen));
    onDone();
  };
  if (error) return <p className="mt-2 text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="mt-2 text-sm text-ink-3">{t.reading}</p>;
  if (!chosen)
    return (
      <div className={`mt-2 ${ROW}`}>
        <p className="text-sm text-ink-2">{t.noOtherBranch}</p>
        <Button look="quiet" onClick={onDone}>
          {t.cancel}
        </Button>
      </div>
    );
  return (
    <form onSubmit={(event) => void submit(event)} className={`mt-2 ${ROW}`}>
      <select
        aria-label={t.switchTo}
        value={chosen}
        onChange={({ target }) => setBranch(target.value)}
        className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3 text-sm thumb:min-h-11"
      >
        {others.map(({ name, shown }) => (
          <option key={name} value={name}>
            {shown}
          </option>
        ))}
      </select>
      <Button needs="POST /context/{chat_id}/git/switch" type="submit" look="primary">
        {t.switchBranch}
      </Button>
      <Button look="quiet" onClick={onDone}>
        {t.cancel}
      </Button>
      {refusal && <div className="w-full">{refusal}</div>}
    </form>
  );
}

/** What the repository is in the middle of. A merge is committed or cancelled here; the rest is finished in a terminal. */
export function OperationNote({ chatId, state }: { chatId: string; state: GitState }) {
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  if (!state.operation) return null;
  const act = async (promise: Promise<unknown>) => {
    await attempt(promise);
    readAgain();
  };
  return (
    <section
      role="note"
      aria-label={t.inProgress(state.operation)}
      className="rounded-lg border border-line-strong p-3"
    >
      <p className="flex items-center gap-2 text-sm font-medium">
        <GitMerge size={15} aria-hidden className="shrink-0" />
        {t.inProgress(state.operation)}
      </p>
      <p className="mt-1 text-sm text-ink-2">{state.operation === "merge" ? t.aboutMerge : t.finishInTerminal}</p>
      {state.operation === "merge" && (
        <div className={`mt-2 ${ROW}`}>
          <Button
            needs="POST /context/{chat_id}/git/merge"
            look="primary"
            onClick={() => void act(finishMerge(chatId))}
          >
            {t.commitMerge}
          </Button>
          <Button
            needs="DELETE /context/{chat_id}/git/merge"
            look="danger"
            onClick={() => void act(abortMerge(chatId))}
          >
            {t.cancelMerge}
          </Button>
        </div>
      )}
      {refusal && <div className="mt-2">{refusal}</div>}
    </section>
  );
}

export function PullDialog({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const { data: offer, error } = usePullSources(chatId);
  const [remote, setRemote] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const source = offer?.remotes.find((one) => one.remote === remote) ?? offer?.remotes[0];
  const { branch, head } = offer ?? {};
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!source || !branch || !head) return;
    setBusy(true);
    const done = await attempt(
      pull(chatId, source, branch, head).then((result) => sayMerged(result, t.pulled(source.remote))),
    );
    setBusy(false);
    readAgain();
    if (done) onClose();
  };
  return (
    <Dialog title={t.pullTitle(branch ?? "")} open onClose={onClose} wide>
      <form className="space-y-3 text-sm" onSubmit={(event) => void submit(event)}>
        {error && <p className="text-bad">{error.message}</p>}
        {!offer && !error && <p role="status">{t.reading}</p>}
        {offer && !source && <p>{t.noRemotes}</p>}
        {source && (
          <>
            <Field label={t.remote}>
              <select value={source.remote} onChange={({ target }) => setRemote(target.value)} className={INPUT}>
                {offer?.remotes.map((one) => (
                  <option key={one.remote}>{one.remote}</option>
                ))}
              </select>
            </Field>
            <p>
              <span className="font-medium">{t.address}: </span>
              <code className="font-mono text-xs break-all">{source.address}</code>
            </p>
            {source.refused && <p className="text-bad">{source.refused}</p>}
          </>
        )}
        <p className="text-xs text-ink-3">{t.pulledAsYou}</p>
        {refusal}
        <footer className="flex justify-end gap-2 pt-1">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button
            needs="POST /context/{chat_id}/git/pull"
            type="submit"
            look="primary"
            icon={<Download size={15} aria-hidden />}
            disabled={busy || !source || !!source.refused || !branch || !head}
          >
            {busy ? t.pulling : t.pull}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

export function Stashes({ chatId }: { chatId: string }) {
  return (
    <Fold summary={<span className="text-sm font-medium">{t.stashes}</span>}>
      {() => <StashList chatId={chatId} />}
    </Fold>
  );
}

function StashList({ chatId }: { chatId: string }) {
  const { data, error } = useStashes(chatId);
  const [message, setMessage] = useState("");
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const act = async (promise: Promise<unknown>) => {
    const done = await attempt(promise);
    readAgain();
    return done;
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (await act(saveStash(chatId, message.trim()))) setMessage("");
  };
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  return (
    <div className="space-y-2">
      <form onSubmit={(event) => void save(event)} className={ROW}>
        <input
          aria-label={t.stashMessage}
          placeholder={t.stashMessage}
          value={message}
          maxLength={200}
          onChange={({ target }) => setMessage(target.value)}
          className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3 text-sm thumb:min-h-11"
        />
        <Button
          needs="POST /context/{chat_id}/git/stashes"
          type="submit"
          icon={<Package size={15} aria-hidden />}
          disabled={!message.trim()}
        >
          {t.stash}
        </Button>
      </form>
      <p className="text-xs text-ink-3">{t.aboutStashes}</p>
      {refusal}
      <ul aria-label={t.stashes} className="space-y-1">
        {data?.stashes.map((stash) => (
          <li key={stash.commit} className={`${ROW} text-sm`}>
            <span className="min-w-0 flex-1 break-words">{visible(stash.message)}</span>
            <Button
              needs="POST /context/{chat_id}/git/stashes/apply"
              aria-label={t.applyNamed(stash.message)}
              onClick={() => void act(applyStash(chatId, stash).then((result) => sayMerged(result, t.stashApplied)))}
            >
              {t.apply}
            </Button>
            <Button
              needs="POST /context/{chat_id}/git/stashes/drop"
              look="danger"
              aria-label={t.dropNamed(stash.message)}
              onClick={() => void act(dropStash(chatId, stash))}
            >
              {t.drop}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Asks once for each text of a hook: a changed one is asked for again. */
export function HooksDialog({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const { data, error } = useHooks(chatId);
  const readAgain = useReadAgain();
  const [attempt, refusal] = useRefusal();
  const choose = async (hooks: { name: string; sha256: string }[]) => {
    const chosen = hooks.map(({ name, sha256 }) => ({ name, sha256 }));
    if (!(await attempt(allowHooks(chatId, chosen)))) return;
    readAgain();
    onClose();
  };
  return (
    <Dialog title={t.hooksTitle} open onClose={onClose} wide>
      <div className="space-y-3 text-sm">
        <p>{t.aboutHooks}</p>
        {error && <p className="text-bad">{error.message}</p>}
        {!data && !error && <p role="status">{t.reading}</p>}
        {data?.hooks.map((hook) => (
          <section key={hook.name} aria-label={hook.name}>
            <h3 className="font-medium">{hook.name}</h3>
            <pre
              tabIndex={0}
              aria-label={hook.name}
              className="max-h-60 overflow-auto rounded-lg bg-sunken p-2 font-mono text-xs"
            >
              {visible(hook.text)}
            </pre>
          </section>
        ))}
        {refusal}
        <footer className="flex flex-wrap justify-end gap-2 pt-1">
          <Button needs="PUT /context/{chat_id}/git/hooks" onClick={() => void choose([])}>
            {t.runNoHooks}
          </Button>
          <Button
            needs="PUT /context/{chat_id}/git/hooks"
            look="primary"
            disabled={!data?.hooks.length}
            onClick={() => void choose(data?.hooks ?? [])}
          >
            {t.runHooks}
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
