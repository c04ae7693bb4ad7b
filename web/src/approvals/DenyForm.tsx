import { useState } from "react";
import { useMe } from "../state/me";
import { t } from "../texts/approvals";
import { Button } from "../ui/Button";

interface Props {
  count: number;
  /** The rule that denying always saves, in words; null where there is none. */
  rule: string | null;
  onDeny: (decision: "deny" | "deny_always", note: string | undefined) => void;
  onCancel: () => void;
}

/** A denial may carry a word to the agent; it goes on with that. */
export function DenyForm({ count, rule, onDeny, onCancel }: Props) {
  const [note, setNote] = useState("");
  const manages = useMe().may("manage");
  const deny = (decision: "deny" | "deny_always") => onDeny(decision, note.trim() || undefined);
  return (
    <form
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        deny("deny");
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
      {rule && (
        <Button title={t.inThisFolderFromNow(rule)} onClick={() => deny("deny_always")}>
          {t.alwaysDeny}
        </Button>
      )}
      <Button look="quiet" onClick={onCancel}>
        {t.back}
      </Button>
      {rule && (
        <p className="w-full text-xs break-words text-ink-3">
          <span className="block sm:ml-auto sm:w-fit">
            {manages ? t.alwaysDenySavesARule(rule) : t.alwaysDenySavesARuleForAll(rule)}
          </span>
        </p>
      )}
    </form>
  );
}
