import { Clock, CornerDownRight, ShieldCheck } from "lucide-react";
import type { PlanStep } from "../wire/nouns";
import { Inline } from "./Inline";

export function PlanSteps({ steps }: { steps: readonly PlanStep[] }) {
  const numbers = new Map(steps.map(({ id }, at) => [id, at + 1]));
  return (
    <ol className="space-y-3">
      {steps.map((step, at) => (
        <li key={step.id} className="flex gap-3">
          <span aria-hidden className="mt-px inline-flex size-6 shrink-0 items-center justify-center rounded-full bg-role-soft text-xs font-semibold text-role tabular-nums">
            {at + 1}
          </span>
          <div className="min-w-0 flex-1">
            <p className="break-words">
              <Inline text={step.action} />
            </p>
            {step.reason && (
              <p className="text-sm break-words text-ink-2">
                <Inline text={step.reason} />
              </p>
            )}
            <Details step={step} numbers={numbers} />
          </div>
        </li>
      ))}
    </ol>
  );
}

function Details({ step, numbers }: { step: PlanStep; numbers: ReadonlyMap<string, number> }) {
  const after = step.dependencies.map((id) => numbers.get(id) ?? id);
  const words = [...step.paths, ...step.commands];
  if (!words.length && !after.length && !step.estimated_time && !step.tools_needed.length && !step.check) return null;
  return (
    <div className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-ink-3">
      {words.map((word) => (
        <code key={word} className="max-w-full truncate rounded-md border border-line bg-sunken px-1.5 py-0.5 font-mono text-[12px] text-ink-2">
          {word}
        </code>
      ))}
      {step.tools_needed.map((tool) => (
        <span key={tool}>{tool.replaceAll("_", " ")}</span>
      ))}
      {step.estimated_time && (
        <span className="inline-flex items-center gap-1">
          <Clock size={12} aria-hidden /> {step.estimated_time}
        </span>
      )}
      {step.check && (
        <span className="inline-flex max-w-full min-w-0 items-center gap-1">
          <ShieldCheck size={12} aria-hidden className="shrink-0" /> proved by
          <code className="truncate font-mono text-[12px] text-ink-2">{step.check}</code>
        </span>
      )}
      {after.length > 0 && (
        <span className="inline-flex items-center gap-1">
          <CornerDownRight size={12} aria-hidden /> after {after.join(", ")}
        </span>
      )}
    </div>
  );
}
