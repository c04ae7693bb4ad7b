// What the chat changed, one net difference per file: read it, keep it, take it back, or say something about it.

import { FileText, Undo2 } from "lucide-react";
import { useState } from "react";
import { DiffCount, Path } from "../content/DiffView";
import { restore } from "../snapshots/acts";
import { openFile } from "../state/openFiles";
import { t } from "../texts/files";
import { number } from "../texts/language";
import { Button, IconButton } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { attempt, say } from "../ui/outcomes";
import { type NetChange, revert, useChange, useChanges, useReadAgain } from "./acts";
import { ChangedHunk } from "./ChangedHunk";
import { ChangedMark } from "./ChangedMark";
import { commentWords, writeToComposer } from "./comment";
import { hunksOf } from "./hunks";

export function Changes({ chatId }: { chatId: string }) {
  const { data, error } = useChanges(chatId);
  if (error) return <p className="p-4 text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="p-4 text-sm text-ink-3">{t.reading}</p>;
  if (data.changes.length === 0) return <p className="p-6 text-center text-sm text-ink-2">{t.nothingChanged}</p>;
  const ignored = data.changes.filter((change) => change.ignored);
  const counted = data.changes.filter((change) => !change.ignored);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2 py-2">
      {counted.length > 0 ? (
        <>
          <p className="px-1.5 pb-1 text-xs text-ink-3">{t.sinceTheChatBegan}</p>
          <ChangedFiles chatId={chatId} changes={counted} label={t.changedFiles} />
        </>
      ) : (
        <p className="px-1.5 pb-1 text-sm text-ink-2">{t.nothingChanged}</p>
      )}
      {ignored.length > 0 && (
        <Fold summary={<span className="text-xs text-ink-2">{t.ignoredFiles(number(ignored.length))}</span>}>
          {() => <ChangedFiles chatId={chatId} changes={ignored} label={t.ignoredFiles(number(ignored.length))} />}
        </Fold>
      )}
      {data.next && <p className="px-1.5 py-2 text-xs text-ink-3">{t.moreFiles}</p>}
    </div>
  );
}

function ChangedFiles({ chatId, changes, label }: { chatId: string; changes: readonly NetChange[]; label: string }) {
  return (
    <ul aria-label={label}>
      {changes.map((change, at) => (
        <li key={change.path} className="relative border-b border-line py-1 last:border-b-0">
          <FileChange chatId={chatId} change={change} open={at === 0 && changes.length <= 5 && !change.ignored} />
        </li>
      ))}
    </ul>
  );
}

function FileChange({ chatId, change, open }: { chatId: string; change: NetChange; open: boolean }) {
  return (
    <Fold
      initiallyOpen={open}
      summary={
        <span className="flex min-w-0 flex-1 items-center gap-2 text-xs">
          <Path path={change.path} className="text-[13px] text-ink" />
          {change.status !== "modified" && <span className="shrink-0 text-ink-3">{t.statuses[change.status]}</span>}
          <span className="ml-auto flex shrink-0 items-center gap-2">
            <ChangedMark by={change.changed_by} short />
            <DiffCount added={change.additions} removed={change.deletions} />
          </span>
        </span>
      }
    >
      {() => <Difference chatId={chatId} change={change} />}
    </Fold>
  );
}

function Difference({ chatId, change }: { chatId: string; change: NetChange }) {
  const [reveal, setReveal] = useState(false);
  const { data, error } = useChange(chatId, change, reveal);
  const readAgain = useReadAgain();
  const takeBack = async (hunks: number[] | null) => {
    const asked = revert(chatId, change.path, change.state, hunks);
    const done = await attempt(asked);
    readAgain();
    if (!done) return;
    const { snapshot } = await asked;
    const undo = () => void attempt(restore(chatId, snapshot ?? "", {}).then(readAgain));
    say(t.tookBack(change.shown), "info", snapshot ? { label: t.undo, run: undo } : undefined);
  };
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="text-sm text-ink-3">{t.reading}</p>;
  const { hunks, notes } = hunksOf(data.diff ?? "");
  return (
    <>
      <div className="flex flex-wrap items-center gap-1 pb-1">
        <Button
          needs="POST /context/{chat_id}/changes/revert"
          className="!min-h-8 thumb:!min-h-11 !py-0.5"
          icon={<Undo2 size={14} aria-hidden />}
          aria-label={t.revertFileOf(change.shown)}
          onClick={() => void takeBack(null)}
        >
          {t.revertFile}
        </Button>
        <Button
          look="quiet"
          aria-label={t.comment}
          className="!min-h-8 thumb:!min-h-11 !py-0.5"
          onClick={() => writeToComposer(commentWords(change.path, null, []))}
        >
          {t.commentShort}
        </Button>
        {change.status !== "deleted" && (
          <IconButton
            label={t.openFile(change.shown)}
            className="ml-auto !size-8 thumb:!size-11"
            onClick={() => openFile(change.path)}
          >
            <FileText size={15} aria-hidden />
          </IconButton>
        )}
      </div>
      {data.diff === null ? (
        <div className="py-2 text-sm text-ink-2">
          {t.looksLikeASecret}{" "}
          <Button className="ml-2 !min-h-8 thumb:!min-h-11" onClick={() => setReveal(true)}>
            {t.reveal}
          </Button>
        </div>
      ) : (
        <>
          {notes.map((note, at) => (
            <p key={at} className="text-sm break-all whitespace-pre-wrap text-ink-2">
              {note.text}
            </p>
          ))}
          {hunks.map((hunk) => (
            <ChangedHunk
              key={`${change.state} ${hunk.number}`}
              chatId={chatId}
              change={change}
              hunk={hunk}
              onRevert={change.status === "modified" && hunks.length > 1 ? () => void takeBack([hunk.number]) : null}
            />
          ))}
        </>
      )}
    </>
  );
}
