import { Info } from "lucide-react";
import { useState } from "react";
import { restore } from "../snapshots/acts";
import { useLive } from "../state/live";
import { restoreToUndo } from "../state/standing";
import { t } from "../texts/chat";
import { t as checkpoints } from "../texts/checkpoints";
import { t as server } from "../texts/server";
import { Button } from "../ui/Button";
import { attempt } from "../ui/outcomes";
import { clock } from "../ui/times";
import { loose, type Message, text } from "../wire/nouns";

/** What the server itself says: short, and nobody's role. What it counted or named is said in the page's language. */
export function NoteCard({ message }: { message: Message }) {
  return (
    <p role="note" className="mx-auto flex w-fit items-baseline gap-2 text-sm text-ink-3">
      <Info size={13} aria-hidden className="shrink-0 translate-y-0.5" />
      <span className="min-w-0 break-words whitespace-pre-line">{wordsOf(message)}</span>
      <time className="shrink-0 text-xs tabular-nums">{clock(message.created_at)}</time>
      <UndoOfRestore noteId={message.id} />
    </p>
  );
}

/** Stands only where nothing was said or done since: later, the checkpoints show what would change. */
function UndoOfRestore({ noteId }: { noteId: string }) {
  const chatId = useLive(({ view }) => view?.id ?? "");
  const undo = useLive(({ view }) => {
    const newest = view && restoreToUndo(view);
    return newest?.noteId === noteId ? newest.snapshot : null;
  });
  const [busy, setBusy] = useState(false);
  if (!undo) return null;
  const takeBack = async () => {
    setBusy(true);
    await attempt(restore(chatId, undo, {}));
    setBusy(false);
  };
  return (
    <Button
      needs="POST /context/{chat_id}/snapshots/{snapshot_id}/restore"
      className="!min-h-8 thumb:!min-h-11 !py-0.5"
      disabled={busy}
      onClick={() => void takeBack()}
    >
      {checkpoints.undo}
    </Button>
  );
}

function wordsOf({ payload, content }: Message): string {
  const { not_found: missed, restore } = loose(payload);
  if (Array.isArray(missed)) return t.notRead(missed.join(", "));
  return (restore ? restoredWords(loose(restore)) : null) ?? server.sentence(content);
}

/** null where it was recorded without counts, as by an earlier version. */
function restoredWords(restore: Readonly<Record<string, unknown>>): string | null {
  const counts = loose(restore["counts"]);
  const { restored, deleted, kept, unkept } = counts;
  if (typeof restored !== "number" || typeof deleted !== "number") return null;
  const [conflict, ...others] = Object.entries(loose(restore["reasons"]));
  const left = restore["left"];
  return checkpoints.restoredTo([
    ...checkpoints.changedFiles(restored, deleted),
    ...(kept ? [checkpoints.keptFolders(Number(kept))] : []),
    ...(unkept ? [checkpoints.unkeptFiles(Number(unkept))] : []),
    ...(conflict ? [checkpoints.leftUnchanged(1 + others.length, conflict[0], text(conflict[1]))] : []),
    ...(left ? [checkpoints.notReached(Number(left))] : []),
  ]);
}
