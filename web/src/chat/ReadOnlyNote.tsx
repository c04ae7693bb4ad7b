import { Eye } from "lucide-react";
import { t } from "../texts/people";

/** Stands where others write and decide. */
export function ReadOnlyNote({ waiting = 0 }: { waiting?: number }) {
  return (
    <p
      role="status"
      className="flex shrink-0 items-center gap-2 rounded-2xl border border-line bg-surface px-4 py-3 text-sm text-ink-2"
    >
      <Eye size={16} aria-hidden className="shrink-0 text-ink-3" />
      <span>
        {waiting > 0 && `${t.waitsForOthers(waiting)} `}
        {t.readOnly}
      </span>
    </p>
  );
}
