// Plan against actual, as the server tells it from recorded calls: read over REST, and put into words.

import { useQuery } from "@tanstack/react-query";
import { t } from "../texts/plans";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { type PlanStep, readPlan } from "../wire/nouns";

type Schemas = components["schemas"];
export type ComparedPlan = Schemas["ComparedPlanResponse"];
export type StepAudit = Schemas["StepAuditResponse"];
export type DoneCall = Schemas["DoneResponse"];

/** `moment` moves on whenever there may be news; what was known stays on the screen until then. */
export function useAudit(chatId: string, wanted: boolean, moment: number) {
  return useQuery({
    queryKey: ["audit", chatId, moment],
    queryFn: async () =>
      (await given(api.GET("/context/{chat_id}/audit", { params: { path: { chat_id: chatId } } }))).plans,
    enabled: wanted,
    placeholderData: (before) => before,
    gcTime: 10_000, // one entry a moment: the old ones are of no use
  });
}

export function intendedOf(step: StepAudit): PlanStep | null {
  return readPlan({ steps: [step.intended] })?.steps[0] ?? null;
}

const FINISHED: readonly string[] = ["done", "claimed"];

export function finishedSteps(plan: ComparedPlan): number {
  return plan.steps.filter(({ status }) => FINISHED.includes(status)).length;
}

/** What is being done, or comes next. */
export function currentStep(plan: ComparedPlan): StepAudit | null {
  return (
    plan.steps.find(({ status }) => status === "running") ?? plan.steps.find(({ status }) => status === "open") ?? null
  );
}

/** Whose word let a call in; `person` is the name of somebody else who approved it. */
export function allowedWords(allowedBy: string | null, person: string | null = null): string {
  switch (allowedBy?.split(":", 1)[0]) {
    case "approval":
      return person ? t.personAllowedIt(person) : t.youAllowedIt;
    case "plan":
      return t.allowedByThePlan;
    case "rule":
      return t.allowedByARule;
    case "default":
      return t.allowedByDefault;
    default:
      return "";
  }
}
