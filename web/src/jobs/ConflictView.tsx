// A file that the job and somebody else changed: both versions, and whether the job's shall stay.
import { t } from "../texts/jobs";
import type { JobDiff } from "./jobs";

interface Props {
  conflict: JobDiff["conflicts"][number];
  chosen: boolean;
  onChoose: () => void;
}

export function ConflictView({ conflict, chosen, onChoose }: Props) {
  return (
    <section
      aria-label={t.conflictIn(conflict.path)}
      className="mt-3 rounded-xl border border-warn/40 px-3 py-2 text-sm"
    >
      <h3 className="font-medium text-warn">{t.conflictIn(conflict.path)}</h3>
      <div className="mt-2 grid gap-2 md:grid-cols-2">
        <Version title={t.jobsVersion} text={conflict.task} />
        <Version title={t.workspacesVersion} text={conflict.workspace} />
      </div>
      <label className="mt-2 flex min-h-9 thumb:min-h-11 items-center gap-2">
        <input type="checkbox" checked={chosen} onChange={onChoose} />
        {t.useJobsVersion}
      </label>
    </section>
  );
}

function Version({ title, text }: { title: string; text: string | null }) {
  return (
    <div className="min-w-0">
      <h4 className="text-xs font-medium text-ink-2">{title}</h4>
      <pre tabIndex={0} aria-label={title} className="mt-1 max-h-48 overflow-auto rounded-lg bg-sunken p-2 text-xs">
        {text ?? t.noFile}
      </pre>
    </div>
  );
}
