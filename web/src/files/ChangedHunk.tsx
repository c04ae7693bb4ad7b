// One hunk of a difference, with what can be done about it. What is kept is remembered by this browser as read.

import { Check, MessageSquareText, Undo2 } from "lucide-react";
import { useState } from "react";
import { Lines } from "../content/DiffLines";
import { t } from "../texts/files";
import { Button } from "../ui/Button";
import type { NetChange } from "./acts";
import { commentWords, writeToComposer } from "./comment";
import { type Hunk, quoteOf } from "./hunks";
import { isKept, setKept } from "./kept";

interface Props {
  chatId: string;
  change: NetChange;
  hunk: Hunk;
  onRevert: (() => void) | null;
}

export function ChangedHunk({ chatId, change, hunk, onRevert }: Props) {
  const [kept, setKeptHere] = useState(() => isKept(chatId, change, hunk));
  const keep = (now: boolean) => {
    setKept(chatId, change, hunk, now);
    setKeptHere(now);
  };
  const name = hunk.place ? t.lines(hunk.place[0], hunk.place[1]) : t.removedLines;
  const comment = () => writeToComposer(commentWords(change.path, hunk.place, quoteOf(hunk)));
  return (
    <section aria-label={name} className="my-1.5 overflow-hidden rounded-lg border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-1 border-b border-line pr-1 pl-3 text-xs text-ink-3">
        <span className="mr-auto py-1">{name}</span>
        <Button
          look="quiet"
          aria-pressed={kept}
          className="!min-h-8 thumb:!min-h-11 !px-2 !py-0.5 !text-xs"
          icon={<Check size={13} aria-hidden className={kept ? "text-good" : ""} />}
          onClick={() => keep(!kept)}
        >
          {kept ? t.kept : t.keep}
        </Button>
        {onRevert && (
          <Button
            needs="POST /context/{chat_id}/changes/revert"
            look="quiet"
            className="!min-h-8 thumb:!min-h-11 !px-2 !py-0.5 !text-xs"
            icon={<Undo2 size={13} aria-hidden />}
            onClick={onRevert}
          >
            {t.revert}
          </Button>
        )}
        <Button
          look="quiet"
          aria-label={t.comment}
          className="!min-h-8 thumb:!min-h-11 !px-2 !py-0.5 !text-xs"
          icon={<MessageSquareText size={13} aria-hidden />}
          onClick={comment}
        >
          {t.commentShort}
        </Button>
      </header>
      {!kept && (
        <div tabIndex={0} role="group" aria-label={t.linesOf(name)} className="max-h-96 overflow-auto py-1">
          <Lines lines={hunk.lines} path={change.path} />
        </div>
      )}
    </section>
  );
}
