// What a job would change in the workspace, before any of it is there: read file by file, then kept, kept in part, or dropped.

import { Check, Trash2 } from "lucide-react";
import { useState } from "react";
import { DiffView } from "../content/DiffView";
import { useMay, useWording } from "../state/me";
import { t } from "../texts/jobs";
import { t as people } from "../texts/people";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Outcomes } from "../ui/Outcomes";
import { ConflictView } from "./ConflictView";
import { commitJob, dropJob, type Job, useJobDiff } from "./jobs";
import { RaceCandidates } from "./RaceCandidates";

interface Props {
  job: Job;
  act: (done: Promise<void>) => void;
}

export function JobChanges({ job, act }: Props) {
  const { data: diff } = useJobDiff(job.id);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set()); // paths that are not kept
  const [overwrite, setOverwrite] = useState<ReadonlySet<string>>(new Set());
  const keeps = useMay("POST /jobs/{job_id}/commit");
  const wording = useWording();
  if (!diff) return null;
  const race = diff.candidates.length > 0;
  const { changesHint, candidatesHint } = people.readers;
  const hint = race ? wording(t.candidatesHint, candidatesHint) : wording(t.changesHint, changesHint);
  const conflicts = new Set(diff.conflicts.map(({ path }) => path));
  const paths = [...new Set([...diff.files.map(({ path }) => path), ...conflicts])];
  const kept = paths.filter((path) => (conflicts.has(path) ? overwrite.has(path) : !left.has(path)));
  const keep = () =>
    act(commitJob(job.id, { ...(kept.length < paths.length ? { paths: kept } : {}), overwrite: [...overwrite] }));
  return (
    <section aria-labelledby="job-changes" className="rounded-2xl border border-line bg-surface px-4 py-4">
      <h2 id="job-changes" className="font-semibold">
        {race ? t.candidates : t.changes}
      </h2>
      <p className="mt-1 text-sm text-ink-2">{hint}</p>
      {race ? (
        <RaceCandidates
          candidates={diff.candidates}
          onKeep={(agent) => act(commitJob(job.id, { agent, overwrite: [] }))}
        />
      ) : (
        <>
          {paths.length === 0 && <p className="mt-3 text-sm">{t.noChanges}</p>}
          {keeps && paths.length > 1 && (
            <ChosenFiles
              paths={paths.filter((path) => !conflicts.has(path))}
              left={left}
              onChange={(path) => setLeft(toggled(left, path))}
            />
          )}
          {diff.conflicts.map((conflict) => (
            <ConflictView
              key={conflict.path}
              conflict={conflict}
              chosen={overwrite.has(conflict.path)}
              onChoose={!keeps ? null : () => setOverwrite(toggled(overwrite, conflict.path))}
            />
          ))}
          {diff.diff && <DiffView text={diff.diff} />}
        </>
      )}
      <footer className="mt-4 flex flex-wrap items-center gap-2">
        {!race && (
          <Button
            needs="POST /jobs/{job_id}/commit"
            look="primary"
            icon={<Check size={15} aria-hidden />}
            disabled={kept.length === 0 && paths.length > 0}
            onClick={keep}
          >
            {kept.length === paths.length ? t.keepAll : t.keepSome(kept.length, paths.length)}
          </Button>
        )}
        <DropButton onDrop={() => act(dropJob(job.id))} />
      </footer>
      <Outcomes className="mt-3" />
    </section>
  );
}

function toggled(all: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(all);
  if (!next.delete(one)) next.add(one);
  return next;
}

function ChosenFiles({
  paths,
  left,
  onChange,
}: {
  paths: readonly string[];
  left: ReadonlySet<string>;
  onChange: (path: string) => void;
}) {
  return (
    <fieldset className="mt-3 text-sm">
      <legend className="font-medium text-ink-2">{t.keepWhich}</legend>
      {paths.map((path) => (
        <label key={path} className="flex min-h-9 thumb:min-h-11 items-center gap-2">
          <input type="checkbox" checked={!left.has(path)} onChange={() => onChange(path)} />
          <code className="min-w-0 font-mono text-xs break-all">{path}</code>
        </label>
      ))}
    </fieldset>
  );
}

function DropButton({ onDrop }: { onDrop: () => void }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button
        needs="POST /jobs/{job_id}/drop"
        look="danger"
        icon={<Trash2 size={14} aria-hidden />}
        onClick={() => setAsking(true)}
      >
        {t.drop}
      </Button>
      <Dialog title={t.dropQuestion} open={asking} onClose={() => setAsking(false)}>
        <p className="text-sm text-ink-2">{t.dropHint}</p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>{t.back}</Button>
          <Button
            look="danger"
            onClick={() => {
              setAsking(false);
              onDrop();
            }}
          >
            {t.drop}
          </Button>
        </div>
      </Dialog>
    </>
  );
}
