// Who sees a chat or a workspace: its owner alone, a group, or everyone on this server. Its owner changes it here.
import { useState } from "react";
import { type Me, useMe } from "../state/me";
import { t } from "../texts/chats";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useRefusal } from "../ui/refusal";

interface Props {
  open: boolean;
  /** Who sees it now. */
  visibility: string;
  note: string;
  onChange: (visibility: string) => Promise<unknown>;
  onClose: () => void;
}

export function VisibilityDialog({ open, ...form }: Props) {
  return (
    <Dialog title={t.whoSeesIt} open={open} onClose={form.onClose}>
      <VisibilityForm {...form} />
    </Dialog>
  );
}

/** Whether it is this person who says who sees it; alone on a server there is nothing to say. Pure. */
export function mayShare(me: Me, owner: string | undefined): boolean {
  return me.shared && (me.owner || owner === me.id);
}

function VisibilityForm({ visibility: now, note, onChange, onClose }: Omit<Props, "open">) {
  const { groups } = useMe();
  const [visibility, setVisibility] = useState(now);
  const [attemptHere, refusal] = useRefusal();
  const choices = [...new Set(["private", ...groups.map((group) => `group:${group}`), now, "everyone"])];
  const change = async () => {
    if (await attemptHere(onChange(visibility))) onClose();
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
      <p className="text-ink-2">{note}</p>
      {refusal}
      <div className="flex justify-end">
        <Button look="primary" type="submit" disabled={visibility === now}>
          {t.changeWhoSeesIt}
        </Button>
      </div>
    </form>
  );
}

/** Pure. */
export function wordsOf(visibility: string): string {
  if (visibility === "private") return t.onlyItsOwner;
  if (visibility === "everyone") return t.everyoneHere;
  return t.groupAndOwner(visibility.slice("group:".length));
}
