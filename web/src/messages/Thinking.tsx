import { Brain } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import { seconds } from "../ui/times";

interface Props {
  /** The message that was thought about. */
  of: string;
  text: string;
  /** null: nobody watched the time. */
  took: number | null;
  running?: boolean;
}

/** Thinking stands apart from the answer, folded. */
export function Thinking({ of, text, took, running = false }: Props) {
  const elapsed = useElapsed(of, running);
  const words = running
    ? `${t.thinking}${elapsed >= 2 ? ` · ${seconds(elapsed)}` : ""}`
    : took === null
      ? t.thoughtAboutIt
      : t.thoughtFor(seconds(took));
  return (
    <Fold
      name={`thought ${of}`}
      className="-ml-1.5"
      summary={
        <span className="inline-flex items-center gap-1.5 text-ink-3">
          <Brain size={14} aria-hidden className={running ? "breathe" : ""} />
          {words}
        </span>
      }
    >
      {() => (
        <p dir="auto" className="max-h-72 overflow-y-auto py-1 text-sm leading-relaxed whitespace-pre-wrap text-ink-2">
          {text}
        </p>
      )}
    </Fold>
  );
}

const begun = new Map<string, number>(); // since when, by message: a card that is scrolled away and back goes on counting

/** Whole seconds since this was first seen to run; 0 once it does not. */
function useElapsed(of: string, running: boolean): number {
  const [elapsed, setElapsed] = useState(0);
  useEffect(() => {
    if (!running) return void begun.delete(of);
    if (!begun.has(of)) begun.set(of, Date.now());
    const look = () => setElapsed(Math.floor((Date.now() - (begun.get(of) ?? Date.now())) / 1000));
    look();
    const timer = window.setInterval(look, 1000);
    return () => window.clearInterval(timer);
  }, [of, running]);
  return running ? elapsed : 0;
}
