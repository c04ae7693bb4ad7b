import { CirclePause, FoldVertical, Play, X } from "lucide-react";
import type { Stopped } from "../state/reduce";
import { t } from "../texts/chat";
import { t as composer } from "../texts/composer";
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
  full = false,
  busy,
  onContinue,
  onCompact,
  onDismiss,
}: {
  reason: Stopped["reason"];
  /** The model's context is full: then compacting is what helps most. */
  full?: boolean;
  busy: boolean;
  onContinue: () => void;
  onCompact: () => void;
  onDismiss: () => void;
}) {
  const [title, sentence] = full ? [composer.contextFull, composer.contextFullAbout] : WORDS[reason];
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
      {full && (
        <Button
          needs="POST /context/{chat_id}/compact"
          look="primary"
          icon={<FoldVertical size={15} aria-hidden />}
          disabled={busy}
          onClick={onCompact}
          title={composer.compactAbout}
        >
          {composer.compact}
        </Button>
      )}
      <Button
        look={full ? "plain" : "primary"}
        icon={<Play size={15} aria-hidden />}
        disabled={busy}
        onClick={onContinue}
        hotkey={shown(keysOf("continue"))}
        title={t.continue(shown(keysOf("continue")))}
      >
        {t.continue2}
      </Button>
      <Button
        needs="POST /context/{chat_id}/dismiss"
        look="quiet"
        icon={<X size={15} aria-hidden />}
        disabled={busy}
        onClick={onDismiss}
        title={reason === "blocked" ? t.dropPlanAbout : t.dismissAbout}
      >
        {reason === "blocked" ? t.dropPlan : t.dismiss}
      </Button>
    </section>
  );
}
