// The keys of radio buttons that are drawn as buttons: Tab stops at the chosen one, the arrows choose.
import type { KeyboardEvent } from "react";

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** For the group's onKeyDown; its radio buttons stand in the order of `names`. */
export function radioKeys(names: readonly string[], chosen: string, choose: (name: string) => void) {
  return (event: KeyboardEvent<HTMLElement>) => {
    const step = STEPS[event.key];
    if (!step || names.length === 0) return;
    event.preventDefault();
    const at = (names.indexOf(chosen) + step + names.length) % names.length;
    choose(names[at]!);
    event.currentTarget.querySelectorAll<HTMLElement>("[role=radio]")[at]?.focus();
  };
}
