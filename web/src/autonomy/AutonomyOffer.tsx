import { ShieldCheck } from "lucide-react";
import { useMemo, useState } from "react";
import type { Autonomy, ChatView } from "../state/reduce";
import { useToolDisplays } from "../state/tools";
import { t } from "../texts/autonomy";
import { Button } from "../ui/Button";
import { useHoldsCommands } from "./AutonomySelector";
import { allowedTools, offeredLevel, WORDS } from "./levels";

const SAID: Partial<Record<Autonomy, string>> = {
  edits: t.youAllowedSeveralFileChanges,
  sandboxed: t.youAllowedSeveralCommandsIn,
};

/** Offered once the same kind was allowed three times. "Not now" holds for as long as the page shows this chat. */
export function AutonomyOffer({ view, onChoose }: { view: ChatView; onChoose: (autonomy: Autonomy) => void }) {
  const full = useHoldsCommands();
  const allowed = useMemo(() => allowedTools(view.messages), [view.messages]);
  const displays = useToolDisplays(allowed);
  const level = offeredLevel(
    allowed.map((tool) => displays[tool]?.kind ?? ""),
    view.autonomy,
    full,
  );
  const [declined, setDeclined] = useState<readonly Autonomy[]>([]);
  if (!level || declined.includes(level)) return null;
  const { title, does } = WORDS[level];
  return (
    <section
      aria-label={t.autonomy(title)}
      className="flex flex-wrap items-center gap-3 rounded-xl border border-dashed border-line-strong px-4 py-2.5 text-sm text-ink-2"
    >
      <ShieldCheck size={16} aria-hidden className="shrink-0 text-warn" />
      <p className="min-w-0 flex-1 basis-56">
        {SAID[level]} <strong className="font-semibold text-ink">{title}</strong>: {does}
      </p>
      <span className="ml-auto flex gap-1">
        <Button look="quiet" onClick={() => setDeclined([...declined, level])}>
          {t.notNow}
        </Button>
        <Button onClick={() => onChoose(level)}>{t.switchTo(title)}</Button>
      </span>
    </section>
  );
}
