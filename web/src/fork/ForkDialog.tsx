// A new chat from one message: its words can be edited, another model can answer, and the files can be as they were then.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { GitFork } from "lucide-react";
import { useState } from "react";
import { DiffView } from "../content/DiffView";
import { ModelButton } from "../models/ModelButton";
import { ConflictList } from "../snapshots/ConflictList";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/fork";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { INPUT } from "../ui/Field";
import { useSending } from "../ui/sending";
import { type ForkFiles, forkChat, previewFork } from "./acts";
import type { ForkKind, ForkWish } from "./opening";

interface Props {
  chatId: string;
  wish: ForkWish;
  model: string | null;
  onClose: () => void;
}

const TITLES: Record<ForkKind, string> = { fork: t.forkFromHere, edit: t.editAndResend, regenerate: t.regenerate };

const FILES: Record<ForkFiles, string> = { none: t.leaveFiles, restore: t.restoreFiles, copy: t.copyFiles };

export default function ForkDialog({ chatId, wish, model, onClose }: Props) {
  const [words, setWords] = useState(wish.content);
  const [files, setFiles] = useState<ForkFiles>("none");
  const [overwrite, setOverwrite] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<string | null>(null);
  const [sending, send] = useSending();
  const queries = useQueryClient();
  const { data: would } = useQuery({
    queryKey: ["fork", chatId, wish.messageId],
    queryFn: () => previewFork(chatId, wish.messageId),
    enabled: files === "restore",
    staleTime: 0,
  });
  const sends = wish.kind !== "fork";
  const decided = files !== "restore" || (would?.conflicts.every((path) => overwrite.has(path)) ?? false);
  const ready = sending === null && decided && (!sends || words.trim() !== "");
  const submit = () =>
    void send("fork", async () => {
      const chat = await forkChat(chatId, {
        message_id: wish.messageId,
        files,
        overwrite: [...overwrite],
        ...(sends ? { content: words } : {}),
        ...(chosen ? { model: chosen } : {}),
      });
      void queries.invalidateQueries({ queryKey: CHATS });
      onClose();
      location.hash = `#/chat/${chat.id}`;
    });
  return (
    <Dialog title={TITLES[wish.kind]} open onClose={onClose} wide>
      <form
        className="space-y-3 text-sm"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) submit();
        }}
      >
        <p className="text-ink-2">{t.theNewChatHas}</p>
        {wish.kind === "edit" && (
          <textarea
            rows={4}
            dir="auto"
            aria-label={t.message}
            value={words}
            onChange={({ target }) => setWords(target.value)}
            className={INPUT}
          />
        )}
        {sends && <ModelButton model={chosen ?? model} onChoose={setChosen} named />}
        <fieldset className="space-y-1">
          <legend className="mb-1 font-medium">{t.files}</legend>
          {(Object.keys(FILES) as ForkFiles[]).map((value) => (
            <label key={value} className="flex min-h-8 thumb:min-h-11 items-center gap-2">
              <input type="radio" name="files" checked={files === value} onChange={() => setFiles(value)} />
              {FILES[value]}
            </label>
          ))}
        </fieldset>
        {files === "copy" && <p className="text-ink-2">{t.aboutTheCopy}</p>}
        {files === "restore" && !would && <p role="status">{t.looking}</p>}
        {files === "restore" && would && (
          <>
            {would.restored.length + would.deleted.length === 0 && <p>{t.nothingToRestore}</p>}
            {would.conflicts.length > 0 && (
              <fieldset className="rounded-xl bg-warn-soft px-4 py-3">
                <legend className="sr-only">{t.changedSince}</legend>
                <p className="font-medium text-warn">{t.changedSince}</p>
                <ConflictList
                  paths={would.conflicts}
                  reasons={would.reasons}
                  chosen={overwrite}
                  onChoose={setOverwrite}
                />
              </fieldset>
            )}
            {would.diff && <DiffView text={would.diff} label={t.wouldChange} />}
          </>
        )}
        <footer className="flex justify-end gap-2 pt-1">
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button type="submit" look="primary" icon={<GitFork size={15} aria-hidden />} disabled={!ready}>
            {sends ? t.send : t.fork}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
