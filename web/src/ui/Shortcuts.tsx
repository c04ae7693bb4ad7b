import { Dialog } from "./Dialog";
import { DECISION_KEYS, HOTKEYS, type Hotkey, shown } from "./hotkeys";

export function Shortcuts({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" open={open} onClose={onClose}>
      <Keys keys={Object.values(HOTKEYS)} />
      <h3 className="mt-5 mb-1 text-sm font-semibold">When something waits for approval</h3>
      <Keys keys={DECISION_KEYS} />
    </Dialog>
  );
}

function Keys({ keys }: { keys: readonly Hotkey[] }) {
  return (
    <dl className="divide-y divide-line text-sm">
      {keys.map(({ keys: combination, does }) => (
        <div key={combination} className="flex items-center justify-between gap-4 py-2">
          <dt className="text-ink-2">{does}</dt>
          <dd>
            <kbd className="rounded-md border border-line-strong bg-sunken px-1.5 py-0.5 font-mono text-xs whitespace-nowrap">{shown(combination)}</kbd>
          </dd>
        </div>
      ))}
    </dl>
  );
}
