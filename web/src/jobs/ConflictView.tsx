// A file that the job and somebody else changed: both versions, and whether the job's shall stay.
import { ConflictSides } from "../content/ConflictSides";
import { t } from "../texts/jobs";
import type { JobDiff } from "./jobs";

interface Props {
  conflict: JobDiff["conflicts"][number];
  chosen: boolean;
  /** Null for who may not choose. */
  onChoose: (() => void) | null;
}

export function ConflictView({ conflict, chosen, onChoose }: Props) {
  return (
    <section
      aria-label={t.conflictIn(conflict.path)}
      className="mt-3 rounded-xl border border-warn/40 px-3 py-2 text-sm"
    >
      <h3 className="font-medium text-warn">{t.conflictIn(conflict.path)}</h3>
      <ConflictSides conflict={conflict} titles={[t.jobsVersion, t.workspacesVersion]} />
      {onChoose && (
        <label className="mt-2 flex min-h-9 thumb:min-h-11 items-center gap-2">
          <input type="checkbox" checked={chosen} onChange={onChoose} />
          {t.useJobsVersion}
        </label>
      )}
    </section>
  );
}
