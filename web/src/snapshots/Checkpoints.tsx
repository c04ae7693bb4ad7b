// What was changed in this chat, newest first, and the way back: looked at before it is taken, and undone with one press.

import { History, Layers, Undo2 } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { DiffCount, DiffView } from "../content/DiffView";
import { useToolLook } from "../content/tools";
import type { Restoring } from "../state/reduce";
import { t } from "../texts/checkpoints";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Fold } from "../ui/Fold";
import { attempt } from "../ui/outcomes";
import { clock } from "../ui/times";
import type { Message } from "../wire/nouns";
import { readToolCall, type ToolCall } from "../wire/toolCalls";
import { differenceOf, type Restored, restore, useSnapshots } from "./acts";
import { type Change, changesOf, type Snapshot, type Stretch, stretchesOf } from "./changes";
import { RestorePreview } from "./RestorePreview";
import { RestoreProgress } from "./RestoreProgress";

const SEVERAL = 2; // changes of a turn have one button for all of them
const FEW = 3; // are shown at once

/** The only path, with what lies below it, that a restore concerns; without it, all of them. */
type Narrowed = { paths?: [string] };

interface Props {
  chatId: string;
  messages: readonly Message[];
  open: boolean;
  idle: boolean;
  moment: number;
  restoring: Restoring | null;
  /** Restores what the newest turn changed at once, and asks only where that would lose something of others. */
  newest?: boolean;
  onClose: () => void;
}

export default function Checkpoints({
  chatId,
  messages,
  open,
  idle,
  moment,
  restoring,
  newest = false,
  onClose,
}: Props) {
  const { snapshots, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useSnapshots(chatId, open, moment);
  const [tried, setTried] = useState<{ id: string; would: Restored; within: Narrowed } | null>(null);
  const tryOut = (id: string, within: Narrowed = {}) =>
    attempt(restore(chatId, id, { dry_run: true, ...within }).then((would) => setTried({ id, would, within })));
  const [busy, setBusy] = useState(false);
  const [looking, setLooking] = useState(newest); // whether the newest turn can be restored without asking
  const put = async (id: string, within: Narrowed, overwrite: string[]) => {
    setTried(null);
    setBusy(true);
    await attempt(restore(chatId, id, { overwrite, ...within })); // the note in the chat says what it did, and takes it back
    setBusy(false);
    onClose();
  };
  const stretches = stretchesOf(changesOf(snapshots), messages);
  const first = newest && !isPending ? stretches[0]?.changes.at(-1)?.before : undefined;
  const begun = useRef(false);
  useEffect(() => {
    if (isPending || begun.current) return;
    if (!first || first.pruned || !idle) return setLooking(false);
    begun.current = true;
    void attempt(
      restore(chatId, first.id, { dry_run: true }).then((would) => {
        const { restored, deleted } = would.counts;
        const clean = would.conflicts.length === 0 && would.unkept.length === 0;
        if (restored + deleted > 0 && clean) return put(first.id, {}, []);
        setTried({ id: first.id, would, within: {} });
      }),
    ).finally(() => setLooking(false));
  }, [isPending, first?.id]);
  const line = (change: Change) => (
    <ChangeLine
      key={change.before.id}
      chatId={chatId}
      change={change}
      call={callOf(messages, change.before.tool_call_id)}
      idle={idle}
      onBack={() => void tryOut(change.before.id)}
    />
  );
  return (
    <Dialog
      title={tried || looking ? t.restoreTheFiles : t.checkpoints}
      open={open}
      onClose={() => (tried ? setTried(null) : onClose())}
      wide
    >
      {busy ? (
        <RestoreProgress chatId={chatId} restoring={restoring} />
      ) : tried ? (
        <RestorePreview
          key={tried.within.paths?.[0] ?? ""}
          would={tried.would}
          within={tried.within.paths?.[0] ?? ""}
          onNarrow={(path) => void tryOut(tried.id, path ? { paths: [path] } : {})}
          onConfirm={(overwrite) => void put(tried.id, tried.within, overwrite)}
          onCancel={() => setTried(null)}
        />
      ) : looking ? (
        <p role="status" className="text-sm">
          {t.lookingAtTheFiles}
        </p>
      ) : (
        <>
          <p className="mb-3 text-sm text-ink-2">
            {isPending ? "…" : stretches.length > 0 ? t.everyChangeOfThisChat : t.nothingWasChangedInThis}
          </p>
          <ol className="space-y-2">
            {stretches.map((stretch) =>
              stretch.changes.length < SEVERAL ? (
                stretch.changes.map(line)
              ) : (
                <StretchLine
                  key={stretch.changes[0]!.before.id}
                  stretch={stretch}
                  idle={idle}
                  onBack={(id) => void tryOut(id)}
                >
                  {line}
                </StretchLine>
              ),
            )}
          </ol>
          {hasNextPage && (
            <Button
              look="quiet"
              className="mt-3 w-full"
              disabled={isFetchingNextPage}
              onClick={() => void fetchNextPage()}
            >
              {t.showOlderChanges}
            </Button>
          )}
        </>
      )}
    </Dialog>
  );
}

function callOf(messages: readonly Message[], callId: string | null): ToolCall | null {
  const found = callId
    ? messages.find(({ message_type, payload }) => message_type === "tool_call" && readToolCall(payload)?.id === callId)
    : null;
  return found ? readToolCall(found.payload) : null;
}

/** Many changes of one turn: taken back together, or looked at one by one. */
function StretchLine({
  stretch,
  idle,
  onBack,
  children,
}: {
  stretch: Stretch;
  idle: boolean;
  onBack: (id: string) => void;
  children: (change: Change) => ReactNode;
}) {
  const { asked, changes } = stretch;
  const { before } = changes.at(-1)!; // the newest is first
  const count = (of: "additions" | "deletions") => changes.reduce((all, { after }) => all + (after?.[of] ?? 0), 0);
  return (
    <li className="rounded-xl border border-line px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-sm">
        <Layers size={15} aria-hidden className="shrink-0 text-ink-3" />
        <span title={asked} className="min-w-0 flex-1 basis-40 truncate font-medium">
          {asked || t.oneTurn}
        </span>
        <LineCount
          added={count("additions")}
          removed={count("deletions")}
          uncounted={changes.reduce((all, { after }) => all + (after?.lines_counted === false ? after.files : 0), 0)}
        />
        <time className="text-xs text-ink-3 tabular-nums">{clock(before.created_at)}</time>
        <BackButton before={before} idle={idle} onBack={() => onBack(before.id)}>
          {t.restoreToBeforeAll(changes.length)}
        </BackButton>
      </div>
      <Fold
        summary={<span className="text-xs">{t.changesOneByOne(changes.length)}</span>}
        initiallyOpen={changes.length <= FEW}
      >
        {() => <ol className="space-y-2">{changes.map(children)}</ol>}
      </Fold>
    </li>
  );
}

/** Lines of a change of very many files are not counted; then the number of files is shown. */
export function LineCount({ added, removed, uncounted }: { added: number; removed: number; uncounted: number }) {
  return (
    <>
      {(added > 0 || removed > 0 || uncounted === 0) && <DiffCount added={added} removed={removed} />}
      {uncounted > 0 && <span className="text-xs text-ink-3 tabular-nums">{t.linesNotCounted(uncounted)}</span>}
    </>
  );
}

function BackButton({
  before,
  idle,
  onBack,
  children,
}: {
  before: Snapshot;
  idle: boolean;
  onBack: () => void;
  children: ReactNode;
}) {
  return (
    <Button
      needs="POST /context/{chat_id}/snapshots/{snapshot_id}/restore"
      icon={<Undo2 size={14} aria-hidden />}
      disabled={!idle || before.pruned}
      title={before.pruned ? t.itsContentMadeRoomFor : idle ? undefined : t.notWhileTheAgentWorks}
      onClick={onBack}
    >
      {children}
    </Button>
  );
}

function ChangeLine({
  chatId,
  change,
  call,
  idle,
  onBack,
}: {
  chatId: string;
  change: Change;
  call: ToolCall | null;
  idle: boolean;
  onBack: () => void;
}) {
  const { before, after } = change;
  const look = useToolLook(call?.tool ?? "");
  const Icon = before.restores ? History : look.Icon;
  return (
    <li className="rounded-xl border border-line px-3 py-2.5">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-sm">
        <Icon size={15} aria-hidden className="shrink-0 text-ink-3" />
        <span className="min-w-0 flex-1 truncate">
          {before.restores ? t.restoredEarlier : look.did || (before.by_person ? t.aPersonsChange : t.aChange)}{" "}
          {call && <code className="font-mono text-[13px]">{look.subjectOf(call.parameters)}</code>}
        </span>
        {after && (
          <LineCount
            added={after.additions}
            removed={after.deletions}
            uncounted={after.lines_counted === false ? after.files : 0}
          />
        )}
        <time className="text-xs text-ink-3 tabular-nums">{clock(before.created_at)}</time>
        <BackButton before={before} idle={idle} onBack={onBack}>
          {t.restoreToBeforeThis}
        </BackButton>
      </div>
      {after && !after.pruned && (
        <Fold summary={<span className="text-xs">{t.whatChanged}</span>}>
          {() => <Difference chatId={chatId} snapshotId={after.id} />}
        </Fold>
      )}
    </li>
  );
}

function Difference({ chatId, snapshotId }: { chatId: string; snapshotId: string }) {
  const [diff, setDiff] = useState<string | null>(null);
  const [asked, setAsked] = useState(false);
  if (!asked) {
    setAsked(true);
    void attempt(differenceOf(chatId, snapshotId).then(setDiff));
  }
  return diff === null ? <p className="text-sm text-ink-3">…</p> : <DiffView text={diff} />;
}
