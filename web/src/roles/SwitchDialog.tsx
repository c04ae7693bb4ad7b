import { useRoles } from "../state/queries";
import { t } from "../texts/roles";
import { Button } from "../ui/Button";
import { Dialog, wantsFocus } from "../ui/Dialog";
import { lookOf } from "./theme";

interface Props {
  role: string | null;
  words: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Switching while the agent is at work stops it: a person says so knowingly. */
export function SwitchDialog({ role, words, onConfirm, onClose }: Props) {
  const { title, colour, Icon } = lookOf(useRoles(), role);
  return (
    <Dialog title={t.switchTo(title)} open={role !== null} onClose={onClose}>
      <p className="text-sm text-ink-2">{words}</p>
      <p className="mt-2 text-sm text-ink-2">{t.whatIsDoneStaysDone}</p>
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>{t.keepWorking}</Button>
        <span data-colour={colour}>
          <Button look="primary" icon={<Icon size={15} aria-hidden />} onClick={onConfirm} ref={wantsFocus}>
            {t.stopAndSwitch}
          </Button>
        </span>
      </div>
    </Dialog>
  );
}
