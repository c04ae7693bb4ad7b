import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { awaitsDigits, readMe, useMe } from "../state/me";
import { t } from "../texts/start";
import { Button } from "../ui/Button";
import { confirmSession } from "../wire/session";

const DIGITS = 6;
const FIELD = "confirmation";

/** For what needs the digits first. */
export function focusDigits(): void {
  document.getElementById(FIELD)?.focus();
}

/** Asks a browser that came in by a printed link for the digits beside it. Until then it may not manage anything. */
export function ConfirmSession() {
  const me = useMe();
  const queries = useQueryClient();
  const [digits, setDigits] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  if (!awaitsDigits(me)) return null;
  const confirm = async () => {
    const confirmed = await confirmSession(digits);
    if (confirmed === "yes") return readMe(queries);
    setProblem(confirmed === "no" ? t.theseAreNotTheDigits : t.theServerDoesNotAnswer);
  };
  return (
    <form
      aria-label={t.confirm}
      className="flex flex-wrap items-center gap-2 border-b border-line bg-surface px-4 py-2 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
    >
      <label htmlFor={FIELD} className="text-ink-2">
        {t.enterTheDigits}
      </label>
      <input
        id={FIELD}
        inputMode="numeric"
        autoComplete="one-time-code"
        value={digits}
        onChange={({ target }) => setDigits(target.value.replace(/\D/g, "").slice(0, DIGITS))}
        className="min-h-9 w-24 rounded-lg border border-line-strong bg-paper px-2 font-mono"
      />
      <Button type="submit" disabled={digits.length < DIGITS}>
        {t.confirm}
      </Button>
      {problem && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
    </form>
  );
}
