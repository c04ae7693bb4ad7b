// A plan that nobody can carry out: its steps wait for each other, or have one name. The note below it says which; here it can be read.

import { Inline } from "../content/Inline";
import { Output } from "../content/Output";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import { loose, type Plan, readPlan } from "../wire/nouns";
import { PlanSteps } from "./PlanSteps";

const LONGEST = 200_000;
const MOST_STEPS = 200;

/** The plan that a whole answer is; null for every other answer. */
export function planInAnswer(answer: string): Plan | null {
  if (answer.length > LONGEST) return null;
  const fenced = /^```(?:json)?\n([\s\S]*)\n```$/.exec(answer.trim())?.[1];
  const source = (fenced ?? answer).trim();
  if (!source.startsWith("{")) return null;
  try {
    const found = loose(JSON.parse(source));
    const plan = found["type"] === "plan" ? readPlan(found) : null;
    return plan && plan.steps.length <= MOST_STEPS ? plan : null;
  } catch {
    return null;
  }
}

export function UnusablePlan({ plan, answer, name }: { plan: Plan; answer: string; name: string }) {
  return (
    <div role="group" aria-label={t.planThatCannotBeUsed} className="min-w-0 space-y-3">
      <p className="font-medium">
        <Inline text={plan.goal} />
      </p>
      <PlanSteps steps={plan.steps} />
      <Fold name={name} summary={t.theReplyAsItCame}>
        {() => <Output text={answer} label={t.theReplyAsItCame} />}
      </Fold>
    </div>
  );
}
