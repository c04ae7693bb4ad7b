import { t } from "../texts/definitions";
import { Button } from "../ui/Button";
import { Dialog, wantsFocus } from "../ui/Dialog";

interface Props {
  name: string;
  about: string;
  onDelete: () => void;
  onClose: () => void;
}

/** Asks before a role or a workflow is deleted. */
export function DeleteDialog({ name, about, onDelete, onClose }: Props) {
  return (
    <Dialog title={t.deleteTitle(name)} open onClose={onClose}>
      <p className="text-sm text-ink-2">{about}</p>
      <div className="mt-4 flex flex-wrap justify-end gap-2">
        <Button ref={wantsFocus} onClick={onClose}>
          {t.keepIt}
        </Button>
        <Button look="danger" onClick={onDelete}>
          {t.deleteNow}
        </Button>
      </div>
    </Dialog>
  );
}
