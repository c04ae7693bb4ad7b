import { Square } from "lucide-react";
import { useState } from "react";
import { stop } from "../state/acts";
import type { Restoring } from "../state/reduce";
import { t } from "../texts/checkpoints";
import { Button } from "../ui/Button";
import { attempt } from "../ui/outcomes";

/** How far a restore is, with a way to stop it. Before the first report it is still reading the files. */
export function RestoreProgress({ chatId, restoring }: { chatId: string; restoring: Restoring | null }) {
  const [stopping, setStopping] = useState(false);
  return (
    <div className="space-y-3 text-sm">
      <p role="status">{restoring ? t.restored(restoring.done, restoring.total) : t.lookingAtTheFiles}</p>
      <progress
        aria-label={t.progress}
        className="w-full"
        {...(restoring ? { value: restoring.done, max: restoring.total } : {})}
      />
      <p className="text-ink-2">{t.stoppingKeepsWhatIsRestored}</p>
      <Button
        icon={<Square size={15} aria-hidden />}
        disabled={stopping}
        onClick={() => {
          setStopping(true);
          void attempt(stop(chatId));
        }}
      >
        {t.stop}
      </Button>
    </div>
  );
}
