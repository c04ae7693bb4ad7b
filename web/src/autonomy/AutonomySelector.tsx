// How much asks in this chat, always in view; one click opens the levels, one key takes the next.

import clsx from "clsx";
import { Check, ShieldCheck, ShieldQuestion } from "lucide-react";
import { useSettings } from "../state/queries";
import type { Autonomy } from "../state/reduce";
import { t } from "../texts/autonomy";
import { keysOf, shown } from "../ui/hotkeys";
import { Menu, MenuChoice, MenuLabel, MenuOption } from "../ui/Menu";
import { loose } from "../wire/nouns";
import { LEVELS, NOT_HELD, WORDS } from "./levels";

interface Props {
  autonomy: Autonomy;
  onChoose: (autonomy: Autonomy) => void;
}

export function AutonomySelector({ autonomy, onChoose }: Props) {
  const { title, does } = WORDS[autonomy];
  const Icon = autonomy === "ask" ? ShieldQuestion : ShieldCheck;
  const trigger = (
    <button
      type="button"
      aria-label={t.autonomyChange(title)}
      title={t.autonomyTakesTheNextLevel(title, does, shown(keysOf("autonomy")))}
      className={clsx(
        "inline-flex min-h-9 shrink-0 items-center gap-1.5 rounded-lg px-2 text-sm thumb:min-h-11",
        autonomy === "ask" ? "text-ink-2 hover:bg-sunken" : "bg-warn-soft font-medium text-warn hover:brightness-95",
      )}
    >
      <Icon size={16} aria-hidden className="shrink-0" />
      <span className={autonomy === "ask" ? "hidden @2xl:inline" : "max-sm:hidden"}>{title}</span>
    </button>
  );
  return (
    <Menu trigger={trigger} label={t.autonomy2} align="end" className="w-80 max-w-[calc(100vw-1rem)]">
      <AutonomyChoice autonomy={autonomy} onChoose={onChoose} />
    </Menu>
  );
}

export function AutonomyChoice({ autonomy, onChoose }: Props) {
  const full = useHoldsCommands();
  return (
    <>
      <MenuLabel>{t.whatPassesWithoutAsking}</MenuLabel>
      <MenuChoice value={autonomy} onChoose={(level) => onChoose(level as Autonomy)}>
        {LEVELS.map((level) => {
          const held = level !== "sandboxed" || full;
          return (
            <MenuOption key={level} value={level} disabled={!held} className="items-start">
              <span className="min-w-0 flex-1">
                <span className="block font-semibold">{WORDS[level].title}</span>
                <span className="block text-xs leading-snug text-ink-2">{held ? WORDS[level].does : NOT_HELD}</span>
              </span>
              {level === autonomy && <Check size={16} aria-label={t.currentLevel} className="mt-1 shrink-0" />}
            </MenuOption>
          );
        })}
      </MenuChoice>
    </>
  );
}

/** Whether this machine's sandbox holds what a command does. */
export function useHoldsCommands(): boolean {
  return loose(useSettings().data?.["sandbox"])["level"] === "full";
}
