// What a push would send, and where: the person looks at it and presses Push.

import { Upload } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/git";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { INPUT } from "../ui/Field";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { useReadAgain } from "./acts";
import { type PushTarget, push, usePushOffer } from "./gitActs";

export function PushDialog({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const { data: offer, error } = usePushOffer(chatId);
  const [remote, setRemote] = useState<string | null>(null);
  const [sending, setSending] = useState(false);
  const readAgain = useReadAgain();
  const target = offer?.remotes.find((one) => one.remote === remote) ?? offer?.remotes[0];
  const { branch, head } = offer ?? {};
  const ready = !sending && target && !target.refused && branch && head;
  const [attempt, refusal] = useRefusal();
  const submit = async () => {
    if (!ready) return;
    setSending(true);
    const done = await attempt(push(chatId, target, branch, head));
    setSending(false);
    readAgain();
    if (!done) return;
    say(t.pushed(target.remote));
    onClose();
  };
  return (
    <Dialog title={t.pushTitle(branch ?? "")} open onClose={onClose} wide>
      <form
        className="space-y-3 text-sm"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {error && <p className="text-bad">{error.message}</p>}
        {!offer && !error && <p role="status">{t.reading}</p>}
        {offer && !target && <p>{t.noRemotes}</p>}
        {offer && target && (
          <>
            <label className="block">
              <span className="mb-1 block font-medium">{t.remote}</span>
              <select value={target.remote} onChange={(event) => setRemote(event.target.value)} className={INPUT}>
                {offer.remotes.map((one) => (
                  <option key={one.remote}>{one.remote}</option>
                ))}
              </select>
            </label>
            <Target target={target} />
          </>
        )}
        <p className="text-xs text-ink-3">{t.pushedAsYou}</p>
        {refusal}
        <footer className="flex justify-end gap-2 pt-1">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" icon={<Upload size={15} aria-hidden />} disabled={!ready}>
            {sending ? t.pushing : t.push}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function Target({ target }: { target: PushTarget }) {
  return (
    <>
      <p>
        <span className="font-medium">{t.address}: </span>
        <code className="font-mono text-xs break-all">{target.address}</code>
      </p>
      {target.refused ? (
        <p className="text-bad">{target.refused}</p>
      ) : (
        <>
          {target.new_branch && <p>{t.newBranchThere}</p>}
          {target.commits.length === 0 && <p>{t.nothingToPush}</p>}
          {target.commits.length > 0 && (
            <ol aria-label={t.commits} className="space-y-1">
              {target.commits.map((one) => (
                <li key={one.id} className="flex min-w-0 items-baseline gap-2">
                  <code className="font-mono text-xs text-ink-3">{one.id.slice(0, 10)}</code>
                  <span className="min-w-0 flex-1 break-words">{one.subject}</span>
                  <span className="text-xs text-ink-3">{one.author}</span>
                </li>
              ))}
            </ol>
          )}
          {!target.complete && <p className="text-xs text-ink-3">{t.moreCommits}</p>}
        </>
      )}
    </>
  );
}
