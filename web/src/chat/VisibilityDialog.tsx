// Who sees a chat: its owner alone, a group, or everyone on this server. Its owner changes it here.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as acts from "../state/acts";
import { useMe } from "../state/me";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/chats";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useRefusal } from "../ui/refusal";
import type { Chat } from "../wire/nouns";

interface Props {
  open: boolean;
  chat: Chat;
  onClose: () => void;
}

export function VisibilityDialog({ open, chat, onClose }: Props) {
  return (
    <Dialog title={t.whoSeesIt} open={open} onClose={onClose}>
      <VisibilityForm chat={chat} onClose={onClose} />
    </Dialog>
  );
}

function VisibilityForm({ chat, onClose }: Omit<Props, "open">) {
  const queries = useQueryClient();
  const { groups } = useMe();
  const now = chat.visibility ?? "everyone";
  const [visibility, setVisibility] = useState(now);
  const [attemptHere, refusal] = useRefusal();
  const choices = [...new Set(["private", ...groups.map((group) => `group:${group}`), now, "everyone"])];
  const change = async () => {
    if (!(await attemptHere(acts.changeChat(chat.id, { visibility })))) return;
    onClose();
    await queries.invalidateQueries({ queryKey: CHATS });
  };
  return (
    <form
      className="space-y-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void change();
      }}
    >
      <fieldset className="space-y-1">
        <legend className="sr-only">{t.whoSeesIt}</legend>
        {choices.map((choice) => (
          <label key={choice} className="flex min-h-8 thumb:min-h-11 items-center gap-2">
            <input
              type="radio"
              name="visibility"
              checked={visibility === choice}
              onChange={() => setVisibility(choice)}
            />
            {wordsOf(choice)}
          </label>
        ))}
      </fieldset>
      <p className="text-ink-2">{t.filesAreNotHidden}</p>
      {refusal}
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={visibility === now}>
          {t.changeWhoSeesIt}
        </Button>
      </div>
    </form>
  );
}

function wordsOf(visibility: string): string {
  if (visibility === "private") return t.onlyItsOwner;
  if (visibility === "everyone") return t.everyoneHere;
  return t.groupAndOwner(visibility.slice("group:".length));
}
