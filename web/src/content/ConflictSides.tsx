// The two versions of a file that a job and somebody else changed, side by side.
import { t } from "../texts/jobs";
import type { FileConflict } from "../wire/nouns";

export function ConflictSides({ conflict, titles }: { conflict: FileConflict; titles: readonly [string, string] }) {
  return (
    <div className="mt-2 grid gap-2 md:grid-cols-2">
      <Version title={titles[0]} text={conflict.task} />
      <Version title={titles[1]} text={conflict.workspace} />
    </div>
  );
}

function Version({ title, text }: { title: string; text: string | null }) {
  return (
    <div className="min-w-0">
      <p className="text-xs font-medium text-ink-2">{title}</p>
      <pre tabIndex={0} aria-label={title} className="mt-1 max-h-48 overflow-auto rounded-lg bg-sunken p-2 text-xs">
        {text ?? t.noFile}
      </pre>
    </div>
  );
}
