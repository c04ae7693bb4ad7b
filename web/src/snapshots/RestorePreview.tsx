import { TriangleAlert, Undo2 } from "lucide-react";
import { useState } from "react";
import { DiffView } from "../content/DiffView";
import { t } from "../texts/checkpoints";
import { Button } from "../ui/Button";
import { Form, TextField } from "../ui/Form";
import type { Restored } from "./acts";
import { ConflictList } from "./ConflictList";

/** What restoring would do, before it is done. What someone else changed meanwhile is lost only if a person says so, file by file. */
export function RestorePreview({
  would,
  within,
  onNarrow,
  onConfirm,
  onCancel,
}: {
  would: Restored;
  /** The only folder or file that is shown and would change; "" for all. */
  within: string;
  onNarrow: (path: string) => void;
  onConfirm: (overwrite: string[]) => void;
  onCancel: () => void;
}) {
  const [wanted, setWanted] = useState(within);
  const [overwrite, setOverwrite] = useState<ReadonlySet<string>>(new Set());
  const count = would.counts.restored + would.counts.deleted;
  const nothing = count === 0;
  const ready = would.conflicts.every((path) => overwrite.has(path));
  return (
    <div>
      <p className="mb-2 text-sm text-ink-2">{nothing ? t.theFilesAreAlreadyAs : t.filesWillChange(count)}</p>
      <Form className="mb-3 flex flex-wrap items-end gap-2" onSubmit={() => onNarrow(wanted.trim())}>
        <div className="min-w-0 flex-1 basis-60">
          <TextField label={t.onlyIn} hint={t.emptyForAll} value={wanted} onChange={setWanted} />
        </div>
        <Button type="submit" disabled={wanted.trim() === within}>
          {t.showOnlyThis}
        </Button>
      </Form>
      {would.conflicts.length > 0 && (
        <fieldset className="mb-3 rounded-xl bg-warn-soft px-4 py-3 text-sm">
          <legend className="sr-only">{t.changedBySomeoneElse}</legend>
          <p className="mb-1 flex items-center gap-2 font-medium text-warn">
            <TriangleAlert size={15} aria-hidden /> {t.changedBySomeoneElseMeanwhile}
          </p>
          <ConflictList paths={would.conflicts} reasons={would.reasons} chosen={overwrite} onChoose={setOverwrite} />
        </fieldset>
      )}
      {would.unkept.length > 0 && (
        <p className="mb-3 text-sm text-ink-2">{t.unkept(would.counts.unkept, would.unkept[0]!)}</p>
      )}
      {would.diff && <DiffView text={would.diff} label={t.whatWouldChange} />}
      <footer className="sticky -bottom-5 -mx-5 mt-3 -mb-5 flex justify-end gap-2 border-t border-line bg-surface px-5 py-3">
        <Button onClick={onCancel}>{t.keepAsItIs}</Button>
        <Button
          needs="POST /context/{chat_id}/snapshots/{snapshot_id}/restore"
          look="primary"
          icon={<Undo2 size={15} aria-hidden />}
          disabled={nothing || !ready}
          onClick={() => onConfirm([...overwrite])}
        >
          {t.restore}
        </Button>
      </footer>
    </div>
  );
}
