import { SquareTerminal } from "lucide-react";
import { visible } from "../content/visible";
import { openTerminal } from "../terminal/opening";
import { t } from "../texts/terminal";
import { clock } from "../ui/times";
import type { Message, PersonCommand } from "../wire/nouns";

/** What the person ran for themselves: short, as the terminal shows the rest. */
export function PersonCommandCard({ message, own }: { message: Message; own: PersonCommand }) {
  const how = own.terminal ? "" : own.exitCode === null ? (t.ends[own.ended ?? ""] ?? "") : t.exitCode(own.exitCode);
  const facts = [how, own.files ? t.filesChanged(own.files) : ""].filter(Boolean).join(", ");
  return (
    <p role="note" className="flex items-baseline justify-center gap-2 text-sm text-ink-3">
      <SquareTerminal size={13} aria-hidden className="shrink-0 translate-y-0.5" />
      <span className="min-w-0 break-words">
        {own.terminal ? t.youHad : own.ended ? t.youRan : t.youStarted}{" "}
        <button
          type="button"
          onClick={openTerminal}
          className="max-w-full rounded bg-sunken px-1.5 py-0.5 text-left font-mono text-[12.5px] break-all text-ink-2 hover:text-ink"
        >
          {own.terminal ? t.aTerminal : shortened(own.command)}
        </button>
        {facts && ` (${facts})`}
      </span>
      <time className="shrink-0 text-xs tabular-nums">{clock(message.created_at)}</time>
    </p>
  );
}

const LONGEST = 200;

function shortened(command: string): string {
  const shown = visible(command.trim().replace(/\s+/g, " "));
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown;
}
