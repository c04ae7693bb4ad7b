import { useState } from "react";
import { t } from "../texts/approvals";
import { Button } from "../ui/Button";

interface Props {
  count: number;
  onDeny: (note: string | undefined) => void;
  onCancel: () => void;
}

/** A denial may carry a word to the agent; it goes on with that. */
export function DenyForm({ count, onDeny, onCancel }: Props) {
  const [note, setNote] = useState("");
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(note.trim() || undefined);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onCancel();
      }}
    >
      <input
        autoFocus
        aria-label={t.aWordToTheAgent}
        placeholder={t.whyNotOrWhatInstead}
        maxLength={2000}
        value={note}
        onChange={({ target }) => setNote(target.value)}
        className="min-h-9 min-w-0 flex-1 basis-56 thumb:min-h-11 rounded-lg border border-line-strong bg-paper px-3 text-sm placeholder:text-ink-3"
      />
      <Button look="danger" type="submit" hotkey="↵">
        {count > 1 ? t.denyAll2(count) : t.deny}
      </Button>
      <Button look="quiet" onClick={onCancel}>
        {t.back}
      </Button>
    </form>
  );
}
