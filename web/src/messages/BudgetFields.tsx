// The budget of a plan while it is edited: each part may be left empty.
import { useId, useState } from "react";
import { t } from "../texts/messages";
import type { Budget } from "../wire/nouns";

interface Props {
  initial: Budget;
  /** Null while a field holds what is no amount: it must not become "no limit". */
  onChange: (budget: Budget | null) => void;
}

type Amounts = Record<keyof Budget, number | null | "wrong">;

const PARTS: { part: keyof Budget; label: string; unit: number; step: string }[] = [
  { part: "calls", label: t.changesAndCommands, unit: 1, step: "1" },
  { part: "seconds", label: t.minutesAtWork, unit: 60, step: "any" },
  { part: "tokens", label: t.tokens, unit: 1, step: "1" },
  { part: "cost", label: t.dollars, unit: 1, step: "any" },
];

export function BudgetFields({ initial, onChange }: Props) {
  const [amounts, setAmounts] = useState<Amounts>(initial);
  const change = (part: keyof Budget, amount: number | null | "wrong") => {
    const changed = { ...amounts, [part]: amount };
    setAmounts(changed);
    onChange(isBudget(changed) ? changed : null);
  };
  return (
    <fieldset className="mt-4 text-sm">
      <legend className="font-medium text-ink-2">{t.budget}</legend>
      <p className="text-xs text-ink-3">{t.onceItIsSpentThe}</p>
      <div className="mt-1.5 grid grid-cols-2 gap-2 sm:grid-cols-4">
        {PARTS.map(({ part, label, unit, step }) => (
          <AmountField
            key={part}
            label={label}
            step={step}
            shown={shown(initial[part], unit)}
            fault={amounts[part] === "wrong" ? (step === "1" ? t.aWholeNumberOrEmpty : t.moreThanZeroOrEmpty) : null}
            onType={(input) => change(part, read(input, unit, step))}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface AmountProps {
  label: string;
  step: string;
  shown: number | undefined;
  fault: string | null;
  onType: (input: HTMLInputElement) => void;
}

function AmountField({ label, step, shown, fault, onType }: AmountProps) {
  const id = useId();
  return (
    <div className="text-xs">
      <label className="text-ink-2">
        {label}
        <input
          type="number"
          min="0"
          step={step}
          placeholder={t.noLimit}
          defaultValue={shown}
          aria-invalid={fault !== null}
          aria-describedby={id}
          onChange={({ target }) => onType(target)}
          className="mt-0.5 block w-full scroll-mt-20 scroll-mb-32 rounded-lg border border-line-strong/70 bg-paper px-3 py-1.5 text-sm placeholder:text-ink-3 aria-invalid:border-bad"
        />
      </label>
      <p id={id} aria-live="polite" className="mt-0.5 text-bad empty:hidden">
        {fault}
      </p>
    </div>
  );
}

function isBudget(amounts: Amounts): amounts is Budget {
  return Object.values(amounts).every((amount) => amount !== "wrong");
}

function shown(amount: number | null, unit: number): number | undefined {
  return amount === null ? undefined : Math.round((amount / unit) * 100) / 100;
}

/** Empty is no limit; where only whole numbers count, the part of one does not. */
function read(input: HTMLInputElement, unit: number, step: string): number | null | "wrong" {
  if (input.value === "" && !input.validity.badInput) return null;
  const amount = step === "1" ? Math.floor(input.valueAsNumber) : input.valueAsNumber * unit;
  return amount > 0 ? amount : "wrong";
}
