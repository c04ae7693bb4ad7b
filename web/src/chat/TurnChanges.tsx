// What the turn that has just ended changed, at a glance, and the way to read it or to go back.

import { FileDiff, FilePen, Undo2 } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { DiffCount } from "../content/DiffView";
import { type Diff, isPartial, readDiff, together, withoutFolders } from "../content/diffs";
import { PathLink } from "../content/PathLink";
import { t } from "../texts/chat";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { loose, type Message, readToolResult, text } from "../wire/nouns";

const TurnReview = lazy(() => import("./TurnReview"));
const NAMED = 3;

export function TurnChanges({ messages, onBack }: { messages: readonly Message[]; onBack: () => void }) {
  const diff = useMemo(() => changedSince(messages), [messages]);
  const [reading, setReading] = useState(false);
  const paths = diff.files.map(({ path }) => path);
  if (paths.length === 0) return null;
  const more = paths.length - NAMED;
  return (
    <div
      role="note"
      aria-label={t.changedInThisTurn}
      className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl border border-line bg-surface py-1 pr-1 pl-4 text-sm"
    >
      <FilePen size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="shrink-0 font-medium">{t.filesChanged(paths.length, Boolean(diff.rest))}</span>
      <span className="text-xs">
        <DiffCount added={diff.added} removed={diff.removed} partial={isPartial(diff)} />
      </span>
      <span title={paths.join("\n")} className="min-w-0 flex-1 basis-40 truncate font-mono text-xs text-ink-3">
        {paths.slice(0, NAMED).map((path, at) => (
          <span key={path}>
            {at > 0 && ", "}
            <PathLink path={path} className="thumb:!my-0 thumb:!py-2.5">
              {path}
            </PathLink>
          </span>
        ))}
        {more > 0 && t.andMore(number(more))}
      </span>
      <span className="ml-auto flex gap-1">
        <Button look="quiet" icon={<FileDiff size={15} aria-hidden />} onClick={() => setReading(true)}>
          {t.review}
        </Button>
        <Button
          needs="POST /context/{chat_id}/snapshots/{snapshot_id}/restore"
          look="quiet"
          icon={<Undo2 size={15} aria-hidden />}
          onClick={onBack}
        >
          {t.goBack}
        </Button>
      </span>
      <Suspense fallback={null}>{reading && <TurnReview diff={diff} onClose={() => setReading(false)} />}</Suspense>
    </div>
  );
}

/** Since the person last spoke: every file that a call changed and nobody put back, once; with a word about what is not known here. Pure. */
export function changedSince(messages: readonly Message[]): Diff {
  const asked = messages.findLastIndex(({ role }) => role === "user");
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

interface GoneBack {
  at: number;
  paths: ReadonlySet<string>;
  undo: string;
}

/** Where these messages went back to an earlier state. Undoing that takes it out again. Pure. */
function restoredIn(messages: readonly Message[]): GoneBack[] {
  const found: GoneBack[] = [];
  messages.forEach(({ payload }, at) => {
    const restore = loose(loose(payload)["restore"]);
    const paths = [restore["restored"], restore["deleted"]].flatMap((list) =>
      Array.isArray(list) ? list.map(text) : [],
    );
    if (paths.length === 0) return;
    if (found.at(-1)?.undo === text(restore["snapshot"])) found.pop();
    else found.push({ at, paths: new Set(paths), undo: text(restore["undo_snapshot"]) });
  });
  return found;
}
