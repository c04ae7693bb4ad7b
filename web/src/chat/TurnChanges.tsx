// What the turn that has just ended changed, at a glance, and the way to look at it or to go back.
import { FilePen } from "lucide-react";
import { useMemo } from "react";
import { DiffCount } from "../messages/DiffView";
import { readDiff } from "../messages/diffs";
import { Button } from "../ui/Button";
import { type Message, readToolResult } from "../wire/nouns";

export interface Changed {
  paths: string[];
  added: number;
  removed: number;
  /** Not all of them are known here: a long diff was cut. */
  more: boolean;
}

const NAMED = 3;

export function TurnChanges({ messages, onLook }: { messages: readonly Message[]; onLook: () => void }) {
  const { paths, added, removed, more: cut } = useMemo(() => changedSince(messages), [messages]);
  if (paths.length === 0) return null;
  const more = paths.length - NAMED;
  return (
    <div role="note" aria-label="Changed in this turn" className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl border border-line bg-surface py-1 pr-1 pl-4 text-sm">
      <FilePen size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="shrink-0 font-medium">{cut ? "More than " : ""}
        {paths.length === 1 ? "1 file" : `${paths.length} files`} changed</span>
      <span className="text-xs">
        <DiffCount added={added} removed={removed} />
      </span>
      <span title={paths.join("\n")} className="min-w-0 flex-1 basis-40 truncate font-mono text-xs text-ink-3">
        {paths.slice(0, NAMED).join(", ")}
        {more > 0 && ` and ${more} more`}
      </span>
      <Button look="quiet" onClick={onLook}>
        Look or go back
      </Button>
    </div>
  );
}

/** Since the person last spoke: every file that a call changed, once. Pure. */
export function changedSince(messages: readonly Message[]): Changed {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const changed: Changed = { paths: [], added: 0, removed: 0, more: false };
  for (const { message_type, payload } of messages.slice(asked + 1)) {
    const diff = message_type === "tool_result" ? readToolResult(payload)?.diff : null;
    if (!diff) continue;
    const { files, added, removed, rest } = readDiff(diff);
    changed.paths.push(...files.map(({ path }) => path).filter((path) => !changed.paths.includes(path)));
    changed.more ||= rest !== "";
    changed.added += added;
    changed.removed += removed;
  }
  return changed;
}
