// What the turn that has just ended changed, at a glance, and the way to read it or to restore the files.

import { FileDiff, FilePen, Undo2 } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { DiffCount } from "../content/DiffView";
import { type Diff, fileCount, isPartial, readDiff, together, withoutFolders, withoutPaths } from "../content/diffs";
import { PathLink } from "../content/PathLink";
import { type Evidence, TurnEvidence } from "../content/TurnEvidence";
import { isMerged, type Job } from "../jobs/jobs";
import { isAsked, isRestored, restoredIn } from "../state/standing";
import { t } from "../texts/chat";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { loose, type Message, readFault, readToolResult, text } from "../wire/nouns";

const TurnReview = lazy(() => import("./TurnReview"));
const NAMED = 3;

interface Props {
  messages: readonly Message[];
  /** undefined while it is on its way. */
  evidence: Evidence | null | undefined;
  /** The chat's newest job; undefined while it is on its way. */
  job: Job | null | undefined;
  onRestore: () => void;
}

export function TurnChanges({ messages, evidence, job, onRestore }: Props) {
  const all = useMemo(() => withoutPaths(changedSince(merged(messages, job)), job?.left_out ?? []), [messages, job]);
  const ignored = useMemo(() => ignoredSince(messages), [messages]);
  const diff = useMemo(() => withoutPaths(all, ignored), [all, ignored]);
  const [reading, setReading] = useState(false);
  const paths = diff.files.map(({ path }) => path);
  const left = fileCount(all) - fileCount(diff);
  if (all.files.length === 0)
    return evidence && !isRestored(messages) && !isBrokenOff(messages, evidence) ? (
      <TurnEvidence evidence={evidence} />
    ) : null;
  const count = fileCount(diff);
  const more = count - Math.min(paths.length, NAMED);
  return (
    <div
      role="note"
      aria-label={t.changedInThisTurn}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl border border-line bg-surface py-1 pr-1 pl-4 text-sm"
    >
      <FilePen size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="shrink-0 font-medium">{t.filesChanged(count, Boolean(diff.rest))}</span>
      {count > 0 && (
        <span className="text-xs">
          <DiffCount added={diff.added} removed={diff.removed} partial={isPartial(diff)} />
        </span>
      )}
      {left > 0 && <span className="shrink-0 text-xs text-ink-3">{t.ignoredFiles(left)}</span>}
      <span title={paths.join("\n")} className="min-w-0 flex-1 basis-16 truncate font-mono text-xs text-ink-3">
        {paths.slice(0, NAMED).map((path, at) => (
          <span key={path}>
            {at > 0 && ", "}
            <PathLink path={path} className="truncate align-middle thumb:!my-0 thumb:!py-2.5">
              {path}
            </PathLink>
          </span>
        ))}
        {more > 0 && t.andMore(number(more))}
      </span>
      {/* It comes a moment later than the rest, which must not move then. */}
      {evidence !== null && (
        <span className="min-h-9 min-w-28 thumb:min-h-11">{evidence && <TurnEvidence evidence={evidence} />}</span>
      )}
      <span className="ml-auto flex gap-1">
        <Button look="quiet" icon={<FileDiff size={15} aria-hidden />} onClick={() => setReading(true)}>
          {t.review}
        </Button>
        <Button
          needs="POST /context/{chat_id}/snapshots/{snapshot_id}/restore"
          look="quiet"
          icon={<Undo2 size={15} aria-hidden />}
          onClick={onRestore}
        >
          {t.restore}
        </Button>
      </span>
      <Suspense fallback={null}>{reading && <TurnReview diff={all} onClose={() => setReading(false)} />}</Suspense>
    </div>
  );
}

/** A turn that ended with an error and changed nothing: nobody says that anything is done. Pure. */
function isBrokenOff(messages: readonly Message[], { status, expectations }: Evidence): boolean {
  const last = messages.at(-1);
  return status === "claimed" && expectations.length === 0 && Boolean(last && readFault(loose(last.payload)["error"]));
}

/** Without what tasks of a job changed in copies of their own that nobody has kept. Pure. */
function merged(messages: readonly Message[], job: Job | null | undefined): readonly Message[] {
  if (job === null || (job && isMerged(job))) return messages;
  return messages.filter(({ job_id, task_id }) => !job_id || !task_id || (job && job.id !== job_id));
}

/** Since the person last spoke: every file that a call changed and nobody put back, once; with a word about what is not known here. Pure. */
export function changedSince(messages: readonly Message[]): Diff {
  const asked = messages.findLastIndex(isAsked);
  const since = messages.slice(asked + 1);
  const back = restoredIn(since);
  const results = since.flatMap(({ message_type, payload }, at) => {
    const text = message_type === "tool_result" ? readToolResult(payload)?.diff : null;
    if (!text) return [];
    const diff = readDiff(text);
    const files = diff.files.filter(({ path }) => !back.some((one) => one.at > at && one.paths.has(path)));
    return [{ ...diff, files }];
  });
  const diff = withoutFolders(together(results));
  return asked < 0 && !diff.rest ? { ...diff, rest: t.andWhatWasDoneBefore } : diff;
}

/** The topmost entries that git ignores, of what was changed since the person last spoke. Pure. */
function ignoredSince(messages: readonly Message[]): readonly string[] {
  const asked = messages.findLastIndex(isAsked);
  return messages.slice(asked + 1).flatMap(({ message_type, payload }) => {
    const entries = message_type === "tool_result" ? readToolResult(payload)?.facts["ignored"] : null;
    return Array.isArray(entries) ? entries.map(text) : [];
  });
}
