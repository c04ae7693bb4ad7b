// What changed, file by file. Signs stand beside the colours. Of many files the first are open, as far as one page goes.

import clsx from "clsx";
import { useMemo, useState } from "react";
import { number } from "../texts/language";
import { t } from "../texts/messages";
import { Copy } from "../ui/Copy";
import { Fold } from "../ui/Fold";
import { Lines, More, SplitToggle } from "./DiffLines";
import { type FileDiff, fileCount, isPartial, readDiff, withoutFolders } from "./diffs";
import { PathButton, PathLink } from "./PathLink";
import { visible } from "./visible";

const MANY = 30; // files
const OPEN = 60; // lines before a file that is still open by itself

interface Props {
  text: string;
  label?: string;
  /** For who decides about it: every file open, every line drawn and wrapped, no region that scrolls by itself. */
  whole?: boolean;
}

export function DiffView({ text, label = t.changes, whole = false }: Props) {
  const diff = useMemo(() => readDiff(text), [text]);
  const [only, ...others] = diff.files;
  const count = fileCount(withoutFolders(diff));
  return (
    <div
      role="group"
      aria-label={label}
      className="@container my-1.5 overflow-hidden rounded-xl border border-line bg-surface"
    >
      <div className="flex min-h-8 items-center gap-3 border-b border-line pr-0.5 pl-3.5 text-xs text-ink-2">
        <span className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 py-1">
          <span className="shrink-0 font-medium">{label}</span>
          {others.length > 0 ? (
            <span className="shrink-0">{diff.rest ? t.firstFiles(number(count)) : t.files(number(count))}</span>
          ) : (
            <PathLink path={only?.path ?? ""} className="flex thumb:!my-0 thumb:!py-2.5">
              <Path path={only?.path ?? ""} className="text-ink-3" />
            </PathLink>
          )}
          <DiffCount added={diff.added} removed={diff.removed} partial={isPartial(diff)} />
        </span>
        <span className="flex shrink-0">
          <SplitToggle />
          <Copy text={text} label={t.copyDiff} className="!size-8 thumb:!size-10" />
        </span>
      </div>
      {whole ? (
        diff.files.map((file, at) => (
          <div key={at} className="py-1">
            {others.length > 0 && <p className="px-3.5 font-mono text-xs break-all text-ink">{visible(file.path)}</p>}
            <Lines lines={file.lines} path={file.path} whole />
          </div>
        ))
      ) : others.length > 0 ? (
        <div tabIndex={0} role="group" aria-label={t.files2(label)} className="max-h-96 overflow-auto px-1.5 py-1">
          <Files files={diff.files} />
          {diff.rest && <p className="px-2 py-1.5 text-sm text-ink-2">{diff.rest}</p>}
        </div>
      ) : (
        <div tabIndex={0} role="group" aria-label={t.lines(label)} className="max-h-96 overflow-auto py-1">
          {only && <Lines lines={only.lines} path={only.path} />}
        </div>
      )}
    </div>
  );
}

/** `partial`: there are more changed lines than were counted. */
export function DiffCount({ added, removed, partial = false }: { added: number; removed: number; partial?: boolean }) {
  const lines = t.linesAddedRemoved(added, removed);
  return (
    <span
      className="shrink-0 font-mono whitespace-nowrap tabular-nums"
      aria-label={partial ? `${t.atLeast} ${lines}` : lines}
    >
      {partial && <span className="font-sans text-ink-3">{t.atLeast} </span>}
      <span className="text-good">+{number(added)}</span> <span className="text-bad">−{number(removed)}</span>
    </span>
  );
}

/** A path that does not fit is cut at its beginning: the name is at its end. */
export function Path({ path, className }: { path: string; className: string }) {
  return (
    <code dir="rtl" title={visible(path)} className={clsx("min-w-0 truncate text-left font-mono", className)}>
      <bdi dir="ltr">{visible(path)}</bdi>
    </code>
  );
}

function Files({ files }: { files: readonly FileDiff[] }) {
  const [all, setAll] = useState(false);
  let before = 0;
  const open = files.map(({ lines }) => {
    const room = before < OPEN;
    before += lines.length;
    return room;
  });
  return (
    <>
      {files.slice(0, all ? undefined : MANY).map((file, at) => (
        <Fold
          key={at}
          initiallyOpen={open[at] ?? false}
          beside={<PathButton path={file.path} />}
          summary={
            <span className="flex min-w-0 flex-1 items-center gap-2 text-xs">
              <Path path={file.path} className="text-ink" />
              <span className="ml-auto">
                <DiffCount added={file.added} removed={file.removed} />
              </span>
            </span>
          }
        >
          {() => (
            <div className="overflow-x-auto">
              <Lines lines={file.lines} path={file.path} />
            </div>
          )}
        </Fold>
      ))}
      {!all && files.length > MANY && <More onClick={() => setAll(true)}>{t.showAllFiles(number(files.length))}</More>}
    </>
  );
}
