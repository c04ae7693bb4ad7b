// The terminal below the chat: what commands print, and a line for the person's own. At phone width it lies over the chat.

import clsx from "clsx";
import { SquareTerminal, X } from "lucide-react";
import { type KeyboardEvent, lazy, Suspense, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { loadEarlier, useLive } from "../state/live";
import type { ChatView } from "../state/reduce";
import { useToolDisplays } from "../state/tools";
import { t } from "../texts/terminal";
import { Button, IconButton } from "../ui/Button";
import { May } from "../ui/May";
import { useNarrow } from "../ui/narrow";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import { PaneEdge, usePaneSize } from "../ui/PaneEdge";
import { openTerminalShell, stopCommand, useCommandsOffer } from "./acts";
import { CommandEntry } from "./CommandEntry";
import { CommandLine } from "./CommandLine";
import { earlierCommands, entriesOf, toolsIn } from "./entries";
import { closeTerminal } from "./opening";

const MOST_ENTRIES = 100;
const USUAL_HEIGHT = 42; // hundredths of the page
const Shell = lazy(() => import("./Shell")); // xterm.js comes with it

export default function TerminalPane({ view }: { view: ChatView }) {
  const narrow = useNarrow();
  const height = usePaneSize("terminal_height") ?? USUAL_HEIGHT;
  const pane = useRef<HTMLElement>(null);
  const offer = useCommandsOffer(view.id, view.news);
  const displays = useToolDisplays(useMemo(() => toolsIn(view), [view]));
  const running = useMemo(() => new Set(offer?.running.map(({ id }) => id)), [offer]);
  const entries = useMemo(() => entriesOf(view, displays, running), [view, displays, running]);
  const hasEarlier = useLive((live) => live.hasEarlier);
  const open = offer?.running.find(({ terminal }) => terminal)?.id ?? null;
  const [opening, setOpening] = useState(false);
  const begin = async () => {
    setOpening(true);
    await attempt(openTerminalShell(view.id));
    setOpening(false);
  };
  const mine = entries.findLast(({ own, status }) => own && status === "running");
  useEffect(() => {
    const before = document.activeElement;
    (pane.current?.querySelector("input") ?? pane.current)?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const stop = () => mine && void attempt(stopCommand(view.id, mine.id));
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented && !isInShell(event.target)) {
      event.preventDefault();
      closeTerminal();
    }
  };
  return (
    <section
      ref={pane}
      id="terminal-pane"
      tabIndex={-1}
      aria-label={t.terminal}
      onKeyDown={onKey}
      className={clsx(
        "flex min-h-0 flex-col bg-surface outline-none",
        narrow ? "fixed inset-0 z-20" : "relative shrink-0 border-t border-line",
      )}
      style={narrow ? undefined : { height: `${height}%` }}
    >
      {!narrow && <PaneEdge name="terminal_height" label={t.height} side="top" usual={USUAL_HEIGHT} />}
      <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-3 thumb:h-14">
        <SquareTerminal size={15} aria-hidden className="shrink-0 text-ink-3" />
        <h2 className="text-sm font-medium">{t.terminal}</h2>
        {open ? (
          <Button
            needs="POST /context/{chat_id}/person-commands/{command_id}/stop"
            look="quiet"
            className="ml-auto !min-h-8 thumb:!min-h-11"
            onClick={() => void attempt(stopCommand(view.id, open))}
          >
            {t.endShell}
          </Button>
        ) : (
          !offer?.reason && (
            <Button
              needs="POST /context/{chat_id}/terminals"
              look="quiet"
              className="ml-auto !min-h-8 thumb:!min-h-11"
              disabled={opening || !offer || mine !== undefined}
              onClick={() => void begin()}
            >
              {t.openShell}
            </Button>
          )
        )}
        <IconButton label={t.closeTerminal} onClick={closeTerminal}>
          <X size={17} aria-hidden />
        </IconButton>
      </header>
      <Outcomes className="shrink-0 p-2" />
      {open ? (
        <Suspense fallback={<p className="p-3 text-sm text-ink-3">{t.openingShell}</p>}>
          <May needs="POST /context/{chat_id}/terminals/{terminal_id}/input">
            <May needs="PUT /context/{chat_id}/terminals/{terminal_id}/size">
              <Shell chatId={view.id} id={open} onLeave={closeTerminal} />
            </May>
          </May>
        </Suspense>
      ) : (
        <>
          <Log size={entries.reduce((all, { output }) => all + output.length + 1, 0)}>
            {hasEarlier && (
              <button
                type="button"
                onClick={() => void loadEarlier()}
                className="mb-2 text-sm text-ink-2 underline underline-offset-2 hover:text-ink"
              >
                {t.earlier}
              </button>
            )}
            {entries.length === 0 && <p className="py-2 text-sm text-ink-3">{t.nothingYet}</p>}
            {entries.slice(-MOST_ENTRIES).map((entry) => (
              <CommandEntry key={entry.id} entry={entry} />
            ))}
          </Log>
          <CommandLine
            chatId={view.id}
            reason={offer?.reason ?? null}
            running={mine?.command ?? null}
            earlier={earlierCommands(entries)}
            onStop={stop}
          />
        </>
      )}
    </section>
  );
}

/** Every key in it belongs to its programs. */
function isInShell(target: EventTarget): boolean {
  return target instanceof Element && target.closest(".xterm") !== null;
}

/** Stays at its end while more comes, unless the reader has scrolled up. */
function Log({ size, children }: { size: number; children: React.ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  useLayoutEffect(() => {
    if (sticks.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [size]);
  return (
    <div
      ref={box}
      role="log"
      aria-label={t.commandsAndOutput}
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        sticks.current = scrollTop + clientHeight >= scrollHeight - 8;
      }}
      className="min-h-0 flex-1 overflow-auto px-3 py-2"
    >
      {children}
    </div>
  );
}
