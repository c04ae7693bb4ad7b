import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as acts from "../state/acts";
import { useSettings } from "../state/queries";
import { t } from "../texts/settings";
import { useRefusal } from "../ui/refusal";

const KNOBS = [
  { name: "max_steps", label: t.toolCallsInATurn, unit: "" },
  { name: "turn_seconds", label: t.workInATurn, unit: t.seconds },
  { name: "autonomy_max_steps", label: t.toolCallsWithoutAsking, unit: "" },
  { name: "autonomy_turn_seconds", label: t.workWithoutAsking, unit: t.seconds },
  { name: "command_timeout", label: t.aCommandMayRun, unit: t.seconds },
  { name: "diagnostics_seconds", label: t.anEditWaitsForErrors, unit: t.seconds },
  { name: "provider_timeout", label: t.aModelMayBeSilent, unit: t.seconds },
] as const;

export function Limits() {
  const { data: settings } = useSettings();
  if (!settings) return null;
  return (
    <dl className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {KNOBS.filter(({ name }) => name in settings).map(({ name, label, unit }) => (
        <Knob key={name} name={name} label={label} unit={unit} value={String(settings[name])} />
      ))}
    </dl>
  );
}

/** Kept when the field is left, or with Enter. */
function Knob({ name, label, unit, value }: { name: string; label: string; unit: string; value: string }) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<string | null>(null); // what comes from the server does not replace it
  const [attempt, refusal] = useRefusal();
  const keep = async () => {
    if (typed !== null && typed !== value) {
      const wanted = typed.trim() ? Number(typed.replace(",", ".")) : Number.NaN;
      const kept = acts.changeSettings({ [name]: Number.isFinite(wanted) ? wanted : typed });
      if (!(await attempt(kept))) return; // what was typed stays, with the reason below it
      await queries.invalidateQueries({ queryKey: ["settings"] });
    }
    setTyped(null);
  };
  return (
    <div className="flex flex-wrap items-center gap-3 px-4 py-2.5 text-sm">
      <dt className="flex-1">
        <label htmlFor={name}>{label}</label>
      </dt>
      <dd className="flex items-center gap-2 text-ink-3">
        <input
          id={name}
          inputMode="decimal"
          aria-invalid={refusal !== null}
          value={typed ?? value}
          onChange={({ target }) => setTyped(target.value)}
          onBlur={() => void keep()}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
          className="min-h-9 thumb:min-h-11 w-20 rounded-lg border border-line-strong bg-paper px-3 text-right text-ink tabular-nums"
        />
        <span className="w-18">{unit}</span>
      </dd>
      {refusal && <dd className="w-full text-right">{refusal}</dd>}
    </div>
  );
}
