import clsx from "clsx";
import { memo, useMemo } from "react";
import { cutStart } from "../content/Output";
import { visible } from "../content/visible";
import { t } from "../texts/terminal";
import type { TerminalEntry } from "./entries";
import { printedText } from "./printedText";

/** One command: who ran it, how it ended, and what it printed. Of a long output the end is shown. */
export const CommandEntry = memo(function CommandEntry({ entry }: { entry: TerminalEntry }) {
  const command = entry.terminal ? t.shell : visible(entry.command);
  const [shown, isCut] = useMemo(() => {
    const kept = cutStart(entry.output);
    return [printedText(kept), kept.length < entry.output.length];
  }, [entry.output]);
  return (
    <article className="mb-3">
      <h3 className="flex items-baseline gap-2 font-mono text-[12.5px]">
        <span
          className={clsx(
            "shrink-0 rounded px-1.5 py-0.5 font-sans text-xs font-medium",
            entry.own ? "bg-ink text-paper" : "bg-sunken text-ink-2",
          )}
        >
          {entry.own ? t.you : t.agent}
        </span>
        <span className="min-w-0 flex-1 font-semibold break-words whitespace-pre-wrap">{command}</span>
        <span className={clsx("shrink-0 font-sans text-xs", entry.status === "failed" ? "text-bad" : "text-ink-3")}>
          {statusOf(entry)}
        </span>
      </h3>
      {isCut && <p className="mt-1 text-xs text-ink-3">{t.cut}</p>}
      {shown.trim() ? (
        <pre className="mt-1 font-mono text-[12.5px] leading-relaxed break-words whitespace-pre-wrap text-ink-2">
          {shown}
        </pre>
      ) : (
        entry.ended && <p className="mt-1 text-xs text-ink-3">{entry.terminal ? t.notRecorded : t.noOutput}</p>
      )}
      {entry.status === "none" && <p className="mt-1 text-xs text-ink-3">{t.noEnd}</p>}
      {entry.noUndo && <p className="mt-1 text-xs text-warn">{t.cannotBeUndone(entry.noUndo)}</p>}
    </article>
  );
});

function statusOf({ status, ended, exitCode, terminal }: TerminalEntry): string {
  if (status === "running") return t.running;
  if (terminal) return ended ? t.ends["exited"]! : "";
  if (exitCode !== null) return t.exitCode(exitCode);
  return ended ? (t.ends[ended] ?? ended) : "";
}
