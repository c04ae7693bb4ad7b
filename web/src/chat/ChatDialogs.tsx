import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as acts from "../state/acts";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { Dialog, wantsFocus } from "../ui/Dialog";
import { attempt } from "../ui/outcomes";

export function RenameDialog({
  open,
  title,
  onClose,
  onRename,
}: {
  open: boolean;
  title: string;
  onClose: () => void;
  onRename: (title: string) => Promise<unknown>;
}) {
  return (
    <Dialog title={t.renameThisChat} open={open} onClose={onClose}>
      <RenameForm title={title} onRename={(words) => void onRename(words).then(onClose)} />
    </Dialog>
  );
}

function RenameForm({ title, onRename }: { title: string; onRename: (title: string) => void }) {
  const [words, setWords] = useState(title);
  return (
    <form
      className="flex gap-2 pt-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim()) onRename(words.trim());
      }}
    >
      <input
        ref={wantsFocus}
        aria-label={t.title}
        maxLength={500}
        value={words}
        onChange={({ target }) => setWords(target.value)}
        className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-paper px-3 text-sm"
      />
      <Button look="primary" type="submit" disabled={!words.trim()}>
        {t.rename}
      </Button>
    </form>
  );
}

export function RemoveDialog({ open, chatId, onClose }: { open: boolean; chatId: string; onClose: () => void }) {
  const queries = useQueryClient();
  const remove = async () => {
    onClose();
    if (!(await attempt(acts.removeChat(chatId)))) return;
    location.hash = "#/";
    void queries.invalidateQueries({ queryKey: CHATS });
  };
  return (
    <Dialog title={t.deleteThisChat} open={open} onClose={onClose}>
      <p className="text-sm text-ink-2">{t.itsMessagesGoForGood}</p>
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>{t.keepIt}</Button>
        <Button look="danger" onClick={() => void remove()}>
          {t.deleteIt}
        </Button>
      </div>
    </Dialog>
  );
}
