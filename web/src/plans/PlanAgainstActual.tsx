// What was meant beside what was done, for every approved plan of a chat; the newest first.

import { TriangleAlert } from "lucide-react";
import { used } from "../content/budgets";
import { Inline } from "../content/Inline";
import { t } from "../texts/plans";
import { Dialog } from "../ui/Dialog";
import { seconds } from "../ui/times";
import { type ComparedPlan, finishedSteps, useAudit } from "./audit";
import { DoneLine } from "./DoneLine";
import { StepAuditRow } from "./StepAuditRow";

interface Props {
  chatId: string;
  open: boolean;
  moment: number;
  onClose: () => void;
}

export default function PlanAgainstActual({ chatId, open, moment, onClose }: Props) {
  const { data: plans, isPending } = useAudit(chatId, open, moment);
  return (
    <Dialog title={t.planAgainstActual} open={open} onClose={onClose} wide>
      <p className="mb-4 text-sm text-ink-2">{t.basedOnRecordedToolCalls}</p>
      {!isPending && plans?.length === 0 && <p className="text-sm text-ink-3">{t.noPlanWasApprovedIn}</p>}
      <div className="space-y-8">
        {plans?.toReversed().map((plan) => (
          <Compared key={plan.message_id} plan={plan} />
        ))}
      </div>
    </Dialog>
  );
}

const STATES: Record<string, string> = {
  answered: t.theAgentFinished,
  terminated: t.theAgentFinished,
  asked: t.waitsForAnAnswer,
  limit: t.endedAtALimit,
  blocked: t.blockedTheAgentStoppedWhile,
  planned: t.anotherPlanWasProposed,
  failed: t.states.failed,
  stopped: t.states.stopped,
  interrupted: t.states.interrupted,
};

export function Compared({ plan }: { plan: ComparedPlan }) {
  return (
    <section aria-label={t.plan(plan.goal)}>
      <h3 className="font-medium break-words">
        <Inline text={plan.goal || t.aPlan} />
      </h3>
      <p className="mb-2 text-sm text-ink-3">
        {t.stepsDone(finishedSteps(plan), plan.steps.length)} · {STATES[plan.state] ?? t.atWork}
        {plan.seconds > 0 && ` · ${seconds(plan.seconds)}`}
      </p>
      {plan.budget && <p className="mb-2 text-sm text-ink-3">{t.budget(used(plan.budget, plan.spent))}</p>}
      <div
        aria-hidden
        className="hidden grid-cols-2 gap-x-6 border-b border-line pb-1 text-xs font-medium text-ink-3 sm:grid"
      >
        <span>{t.whatWasMeant}</span>
        <span>{t.whatWasDone}</span>
      </div>
      <ol>
        {plan.steps.map((step, at) => (
          <StepAuditRow key={step.id} step={step} number={at + 1} />
        ))}
      </ol>
      {plan.unplanned.length > 0 && (
        <div className="mt-2 rounded-xl bg-warn-soft px-3.5 py-2.5 text-sm">
          <h4 className="flex items-center gap-2 font-medium text-warn">
            <TriangleAlert size={15} aria-hidden /> {t.outsideThePlan}
          </h4>
          <ul>
            {plan.unplanned.map((done) => (
              <DoneLine key={done.call_id} done={done} />
            ))}
          </ul>
        </div>
      )}
      {plan.also_read > 0 && (
        <p className="mt-2 text-xs text-ink-3">
          {plan.also_read === 1 ? t.oneMoreCallOnlyRead : t.moreCallsOnlyRead(plan.also_read)}
        </p>
      )}
    </section>
  );
}
