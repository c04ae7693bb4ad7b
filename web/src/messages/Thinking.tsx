import { Brain } from "lucide-react";
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
  const words = running ? t.thinking : took === null ? t.thoughtAboutIt : t.thoughtFor(seconds(took));
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
