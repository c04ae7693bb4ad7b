import { Play, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { t } from "../texts/terminal";
import { Button } from "../ui/Button";
import { VERBATIM } from "../ui/Field";
import { useRefusal } from "../ui/refusal";
import { runCommand } from "./acts";

interface Props {
  chatId: string;
  /** Why no command can be run here. */
  reason: string | null;
  /** The command that runs now. */
  running: string | null;
  /** What the arrow keys bring back, newest first. */
  earlier: readonly string[];
  onStop: () => void;
}

/** The read-eval line. Ctrl+C stops the command that runs, unless text is selected to be copied. */
export function CommandLine({ chatId, reason, running, earlier, onStop }: Props) {
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(-1);
  const draft = useRef("");
  const [attempt, refusal] = useRefusal();
  if (reason) return <p className="border-t border-line px-3 py-2.5 text-sm text-ink-2">{reason}</p>;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const command = typed.trim();
    if (!command || running !== null) return;
    if (!(await attempt(runCommand(chatId, command)))) return;
    setTyped("");
    setPlace(-1);
    draft.current = "";
  };
  const recall = (next: number) => {
    if (next >= earlier.length || next < -1) return;
    if (place < 0) draft.current = typed;
    setPlace(next);
    setTyped(next < 0 ? draft.current : earlier[next]!);
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    const field = event.currentTarget;
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      event.preventDefault();
      recall(event.key === "ArrowUp" ? place + 1 : place - 1);
    } else if (event.key === "c" && event.ctrlKey && field.selectionStart === field.selectionEnd) {
      event.preventDefault();
      if (running !== null) onStop();
      else setTyped("");
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="shrink-0 border-t border-line px-3 py-2">
      <div className="flex items-center gap-2">
        <span aria-hidden className="font-mono text-sm text-ink-3">
          $
        </span>
        <input
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          onKeyDown={onKey}
          aria-label={t.yourCommand}
          aria-describedby="terminal-about"
          placeholder={t.placeholder}
          {...VERBATIM}
          maxLength={20_000}
          className="min-h-9 min-w-0 flex-1 rounded-md bg-transparent px-1.5 font-mono text-[13px] placeholder:text-ink-3 thumb:min-h-11 thumb:text-base"
        />
        {running === null ? (
          <Button
            needs="POST /context/{chat_id}/person-commands"
            type="submit"
            disabled={!typed.trim()}
            icon={<Play size={14} aria-hidden />}
          >
            {t.run}
          </Button>
        ) : (
          <Button
            needs="POST /context/{chat_id}/person-commands/{command_id}/stop"
            look="danger"
            onClick={onStop}
            aria-label={t.stopNamed(running)}
            icon={<Square size={13} aria-hidden />}
          >
            {t.stop}
          </Button>
        )}
      </div>
      {refusal}
      <p id="terminal-about" className="pt-1 text-xs text-ink-3">
        {t.about}
      </p>
    </form>
  );
}
