import clsx from "clsx";
import { t } from "../texts/rules";

const LOOKS = { allow: "bg-good-soft text-good", ask: "bg-warn-soft text-warn", deny: "bg-bad-soft text-bad" } as const;

export type Effect = keyof typeof LOOKS;

export function EffectMark({ effect }: { effect: Effect }) {
  return (
    <span className={clsx("min-w-18 shrink-0 rounded-full px-2 py-0.5 text-center text-xs font-medium", LOOKS[effect])}>
      {t.effects[effect]}
    </span>
  );
}
