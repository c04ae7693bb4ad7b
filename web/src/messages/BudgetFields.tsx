// The budget of a plan while it is edited: each part may be left empty.
import { t } from "../texts/messages";
import type { Budget } from "../wire/nouns";

interface Props {
  budget: Budget;
  onChange: (budget: Budget) => void;
}

const PARTS: { part: keyof Budget; label: string; unit: number; step: string }[] = [
  { part: "calls", label: t.changesAndCommands, unit: 1, step: "1" },
  { part: "seconds", label: t.minutesAtWork, unit: 60, step: "any" },
  { part: "tokens", label: t.tokens, unit: 1, step: "1" },
  { part: "cost", label: t.dollars, unit: 1, step: "any" },
];

export function BudgetFields({ budget, onChange }: Props) {
  return (
    <fieldset className="mt-4 text-sm">
      <legend className="font-medium text-ink-2">{t.budget}</legend>
      <p className="text-xs text-ink-3">{t.onceItIsSpentThe}</p>
      <div className="mt-1.5 grid grid-cols-2 gap-2 sm:grid-cols-4">
        {PARTS.map(({ part, label, unit, step }) => (
          <label key={part} className="text-xs text-ink-2">
            {label}
            <input
              type="number"
              min="0"
              step={step}
              placeholder={t.noLimit}
              defaultValue={shown(budget[part], unit)}
              onChange={({ target }) => onChange({ ...budget, [part]: read(target.valueAsNumber, unit, step) })}
              className="mt-0.5 block w-full rounded-lg border border-line-strong/70 bg-paper px-3 py-1.5 text-sm placeholder:text-ink-3"
            />
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function shown(amount: number | null, unit: number): number | undefined {
  return amount === null ? undefined : Math.round((amount / unit) * 100) / 100;
}

/** What is no amount limits nothing; where only whole numbers count, the part of one does not. */
function read(typed: number, unit: number, step: string): number | null {
  const amount = step === "1" ? Math.floor(typed) : typed * unit;
  return amount > 0 ? amount : null;
}
