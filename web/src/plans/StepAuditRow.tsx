import { TriangleAlert } from "lucide-react";
import { Inline } from "../content/Inline";
import { PathLink } from "../content/PathLink";
import { t } from "../texts/plans";
import { seconds } from "../ui/times";
import { intendedOf, type StepAudit } from "./audit";
import { DoneLine } from "./DoneLine";
import { StepMark } from "./StepMark";

/** One step: what was meant at the left, what was done at the right. */
export function StepAuditRow({ step, number }: { step: StepAudit; number: number }) {
  return (
    <li className="border-t border-line py-3 first:border-t-0">
      <div className="grid gap-x-6 gap-y-2 sm:grid-cols-2">
        <Intended step={step} number={number} />
        <div className="min-w-0 text-sm">
          <p className="mb-0.5 flex items-center gap-2">
            <span className="sr-only">{t.step(number)}</span>
            <StepMark status={step.status} />
            {step.seconds > 0 && <span className="text-xs text-ink-3">{seconds(step.seconds)}</span>}
          </p>
          {step.done.length > 0 ? (
            <ul>
              {step.done.map((done) => (
                <DoneLine key={done.call_id} done={done} />
              ))}
            </ul>
          ) : (
            <p className="text-ink-3">{step.status === "claimed" ? t.noRecordedCallProvesIt : t.noCallWasMadeFor}</p>
          )}
          <Proof step={step} />
          {step.untouched.length > 0 && !["open", "running"].includes(step.status) && (
            <p className="mt-1 flex items-start gap-1.5 text-xs text-warn">
              <TriangleAlert size={13} aria-hidden className="mt-0.5 shrink-0" />
              <span className="min-w-0 break-words">{t.neverTouched(step.untouched.join(", "))}</span>
            </p>
          )}
        </div>
      </div>
    </li>
  );
}

function Intended({ step, number }: { step: StepAudit; number: number }) {
  const meant = intendedOf(step);
  const named = [...(meant?.paths ?? []), ...(meant?.commands ?? [])];
  return (
    <div className="min-w-0 text-sm">
      <p className="break-words">
        <span className="text-ink-3 tabular-nums">{number}.</span> <Inline text={meant?.action ?? ""} />
      </p>
      {named.length > 0 && (
        <ul className="mt-1 flex flex-wrap gap-1">
          {named.map((name) => (
            <li
              key={name}
              className="max-w-full truncate rounded-md bg-sunken px-1.5 py-px font-mono text-xs text-ink-2"
            >
              {meant?.paths.includes(name) ? <PathLink path={name}>{name}</PathLink> : name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Proof({ step: { check } }: { step: StepAudit }) {
  if (!check) return null;
  const words = !check.ran ? t.wasNotRun : check.ok ? t.passed : t.failedWith(check.exit_code);
  return (
    <p className={`mt-1 text-xs break-words ${check.ran && !check.ok ? "text-bad" : "text-ink-2"}`}>
      {t.check} <code className="font-mono">{check.command}</code> {words}.
    </p>
  );
}
