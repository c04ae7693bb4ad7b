// The plan that is being carried out, above the composer: how far it is, live, and what was done for each step on demand.

import { ListChecks } from "lucide-react";
import { Inline } from "../content/Inline";
import { t } from "../texts/plans";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { type ComparedPlan, currentStep, finishedSteps, intendedOf, useAudit } from "./audit";
import { StepMark } from "./StepMark";

interface Props {
  chatId: string;
  /** The plan whose turn is the newest. */
  messageId: string;
  /** Whether files were restored since: its steps were done, and what they did may be gone. */
  restored: boolean;
  moment: number;
  onCompare: () => void;
}

export function PlanDock({ chatId, messageId, restored, moment, onCompare }: Props) {
  const { data: plans } = useAudit(chatId, true, moment);
  const plan = plans?.find(({ message_id }) => message_id === messageId);
  return plan ? <Checklist plan={plan} restored={restored} onCompare={onCompare} /> : null;
}

interface ChecklistProps {
  plan: ComparedPlan;
  restored: boolean;
  onCompare: () => void;
}

export function Checklist({ plan, restored, onCompare }: ChecklistProps) {
  const current = currentStep(plan);
  const done = finishedSteps(plan);
  return (
    <section
      aria-label={t.thePlanSoFar}
      data-colour="blue"
      className="mb-2 rounded-2xl border border-line bg-surface px-2 py-1"
    >
      <Fold
        summary={
          <span className="flex min-w-0 flex-1 items-center gap-2">
            <ListChecks size={15} aria-hidden className="shrink-0 text-role" />
            <span className="shrink-0 font-medium tabular-nums">{t.of(done, plan.steps.length)}</span>
            <span className="min-w-0 truncate text-ink-2">
              <Inline text={current ? (intendedOf(current)?.action ?? "") : plan.goal} />
            </span>
            {plan.unplanned.length > 0 && <Mark>{t.outsideThePlan2(plan.unplanned.length)}</Mark>}
            {restored && <Mark>{t.filesRestored}</Mark>}
          </span>
        }
      >
        {() => (
          <>
            <ol className="max-h-[30vh] space-y-1.5 max-sm:max-h-[18vh] overflow-y-auto py-1 text-sm">
              {plan.steps.map((step) => (
                <li key={step.id} className="flex items-start gap-2">
                  <span className="mt-0.5">
                    <StepMark status={step.status} brief />
                  </span>
                  <span className={`min-w-0 flex-1 break-words ${step.status === "done" ? "text-ink-3" : ""}`}>
                    <Inline text={intendedOf(step)?.action ?? ""} />
                  </span>
                </li>
              ))}
            </ol>
            <Button look="quiet" className="mt-1 mb-1.5 -ml-3" onClick={onCompare}>
              {t.planAgainstActual}
            </Button>
          </>
        )}
      </Fold>
    </section>
  );
}

function Mark({ children }: { children: string }) {
  return (
    <span className="shrink-0 rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn">{children}</span>
  );
}
