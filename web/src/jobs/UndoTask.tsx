// Undoes what one task changed, after a look at what that would do; later work of others in the same files stays.
import { Undo2 } from "lucide-react";
import { useState } from "react";
import { DiffView } from "../content/DiffView";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { attempt } from "../ui/outcomes";
import { type TaskUndo, undoTask } from "./jobs";

interface Props {
  jobId: string;
  taskId: string;
  act: (done: Promise<void>) => void;
}

export function UndoTask({ jobId, taskId, act }: Props) {
  const [would, setWould] = useState<TaskUndo | null>(null);
  const look = async () => setWould(await undoTask(jobId, taskId, { dry_run: true, overwrite: [] }));
  const undo = async (overwrite: string[]) => {
    setWould(null);
    await undoTask(jobId, taskId, { dry_run: false, overwrite });
  };
  return (
    <>
      <Button
        needs="POST /jobs/{job_id}/tasks/{task_id}/undo"
        icon={<Undo2 size={14} aria-hidden />}
        onClick={() => void attempt(look())}
      >
        {t.undoTask}
      </Button>
      <Dialog title={t.undoTask} open={would !== null} onClose={() => setWould(null)}>
        {would && <UndoPreview would={would} onUndo={(paths) => act(undo(paths))} onBack={() => setWould(null)} />}
      </Dialog>
    </>
  );
}

interface PreviewProps {
  would: TaskUndo;
  onUndo: (overwrite: string[]) => void;
  onBack: () => void;
}

export function UndoPreview({ would, onUndo, onBack }: PreviewProps) {
  const [overwrite, setOverwrite] = useState<ReadonlySet<string>>(new Set());
  const count = would.counts.restored + would.counts.deleted;
  const isReady = count > 0 && would.conflicts.every((path) => overwrite.has(path));
  const toggle = (path: string) => {
    const next = new Set(overwrite);
    if (!next.delete(path)) next.add(path);
    setOverwrite(next);
  };
  return (
    <>
      <p className="text-sm text-ink-2">{count === 0 ? t.nothingToUndo : t.undoHint}</p>
      {would.conflicts.length > 0 && (
        <fieldset className="mt-3 rounded-xl bg-warn-soft px-4 py-3 text-sm">
          <legend className="font-medium text-warn">{t.changedSince}</legend>
          {would.conflicts.map((path) => (
            <label key={path} className="flex min-h-9 thumb:min-h-11 items-center gap-2">
              <input type="checkbox" checked={overwrite.has(path)} onChange={() => toggle(path)} />
              <span className="min-w-0 break-words">{t.undoAnyway(path)}</span>
            </label>
          ))}
        </fieldset>
      )}
      {would.diff && <DiffView text={would.diff} />}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onBack}>{t.back}</Button>
        <Button look="primary" disabled={!isReady} onClick={() => onUndo([...overwrite])}>
          {t.undoTask}
        </Button>
      </div>
    </>
  );
}
