import { CirclePause, Play } from "lucide-react";
import type { Stopped } from "../state/reduce";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { keysOf, shown, useHotkeys } from "../ui/hotkeys";

const WORDS: Record<Stopped["reason"], [title: string, sentence: string]> = {
  limit: [t.stoppedAtALimit, t.nothingIsLostContinueGoes],
  interrupted: [t.interrupted, t.theServerEndedDuringThis],
  blocked: [t.thePlanIsNotFinished, t.stepsAreStillOpenContinue],
};

/** A turn that stopped short goes on by one click or key. Nothing went wrong, so it is amber, not red. */
export function ContinueCard({
  reason,
  busy,
  onContinue,
}: {
  reason: Stopped["reason"];
  busy: boolean;
  onContinue: () => void;
}) {
  const [title, sentence] = WORDS[reason];
  useHotkeys(busy ? {} : { continue: onContinue });
  return (
    <section
      aria-label={title}
      className="flex flex-wrap items-center gap-3 rounded-xl border border-warn/30 bg-warn-soft px-4 py-3 text-sm"
    >
      <CirclePause size={17} aria-hidden className="shrink-0 text-warn" />
      <div className="min-w-0 flex-1 basis-56">
        <p className="font-medium text-ink">{title}</p>
        <p className="text-ink-2">{sentence}</p>
      </div>
      <Button
        look="primary"
        icon={<Play size={15} aria-hidden />}
        disabled={busy}
        onClick={onContinue}
        title={t.continue(shown(keysOf("continue")))}
      >
        {t.continue2}
      </Button>
    </section>
  );
}
