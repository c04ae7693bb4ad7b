// The keys of the page, and the way to others: press a shortcut's keys anew. What is kept is this browser's own.

import { RotateCcw } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { useMay } from "../state/me";
import { t } from "../texts/ui";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import {
  conflict,
  DECISION_KEYS,
  HOTKEYS,
  type Hotkey,
  keysOf,
  type Name,
  pressed,
  setKeys,
  shown,
  useHotkeyNames,
} from "./hotkeys";

export function Shortcuts({ open, onClose }: { open: boolean; onClose: () => void }) {
  const changed = usePreference("keys");
  const names = useHotkeyNames();
  const decides = useMay("POST /context/{chat_id}/approvals");
  return (
    <Dialog title={t.keyboardShortcuts} open={open} onClose={onClose}>
      <ul className="divide-y divide-line text-sm">
        {names.map((name) => (
          <Shortcut key={name} name={name} />
        ))}
      </ul>
      {changed && changed !== "{}" && (
        <Button
          look="quiet"
          className="mt-2 -ml-3"
          icon={<RotateCcw size={14} aria-hidden />}
          onClick={() => setPreference("keys", "{}")}
        >
          {t.allAsTheyWere}
        </Button>
      )}
      {decides && (
        <>
          <h3 className="mt-5 mb-1 text-sm font-semibold">{t.inACardThatWaits}</h3>
          <p className="mb-1 text-sm text-ink-2">{t.typingNeverDecides(shown(keysOf("approvals")))}</p>
          <Keys keys={DECISION_KEYS} />
        </>
      )}
    </Dialog>
  );
}

function Shortcut({ name }: { name: Name }) {
  const [listening, setListening] = useState(false);
  const [against, setAgainst] = useState<string | null>(null);
  const keys = keysOf(name);
  const hear = (event: KeyboardEvent) => {
    if (!listening || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const given = event.key === "Escape" ? keys : pressed(event.nativeEvent);
    if (!given) return;
    const problem = conflict(name, given);
    setAgainst(problem && `${shown(given)}: ${problem}`);
    if (problem) return;
    setKeys(name, given);
    setListening(false);
  };
  const leave = () => {
    setListening(false);
    setAgainst(null);
  };
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 py-1.5">
      <span className="text-ink-2">{HOTKEYS[name].does}</span>
      <button
        type="button"
        aria-label={`${HOTKEYS[name].does}: ${listening ? t.pressKeysEscapeLeavesIt : t.change(shown(keys))}`}
        onClick={() => setListening(true)}
        onKeyDown={hear}
        onBlur={leave}
        className="ml-auto min-h-8 thumb:min-h-11 rounded-md border border-line-strong bg-sunken px-2 font-mono text-xs whitespace-nowrap hover:border-ink-3"
      >
        {listening ? t.pressKeys : shown(keys)}
      </button>
      {against && (
        <span role="alert" className="w-full text-right text-xs text-bad">
          {against}
        </span>
      )}
    </li>
  );
}

function Keys({ keys }: { keys: readonly Hotkey[] }) {
  return (
    <dl className="divide-y divide-line text-sm">
      {keys.map(({ keys: combination, does }) => (
        <div key={combination} className="flex items-center justify-between gap-4 py-2">
          <dt className="text-ink-2">{does}</dt>
          <dd>
            <kbd className="rounded-md border border-line-strong bg-sunken px-1.5 py-0.5 font-mono text-xs whitespace-nowrap">
              {shown(combination)}
            </kbd>
          </dd>
        </div>
      ))}
    </dl>
  );
}
