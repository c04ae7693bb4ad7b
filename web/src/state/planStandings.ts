// How each plan of a chat stands: open, replaced, approved, done or blocked.
import { loose, type Plan, readPlan, text } from "../wire/nouns";

const PLAN_STATES = ["open", "superseded", "approved", "done", "blocked"] as const;
export type PlanState = (typeof PLAN_STATES)[number];

export interface PlanStanding {
  state: PlanState;
  approved: Plan | null;
  /** Each step's status, as the server told; nothing before the plan was approved. */
  steps?: Readonly<Record<string, string>>;
}

/** An approved plan, as the server compares it with what was done. */
export interface PlanProgress {
  message_id: string;
  status: string;
  steps: readonly { id: string; status: string }[];
}

/** By the id of the message that holds the plan. */
export type PlanStandings = Readonly<Record<string, PlanStanding>>;

export function withPlan(plans: PlanStandings, update: Record<string, unknown>): PlanStandings {
  const id = text(update["message_id"]);
  const told = text(update["status"]) || text(update["state"]);
  const state = PLAN_STATES.find((one) => one === told);
  if (!id || !state) return plans;
  const standing: PlanStanding = { state, approved: null };
  if (state === "superseded") return { ...plans, [id]: standing };
  if (state !== "open")
    return {
      ...plans,
      [id]: {
        state,
        approved: "goal" in update ? readPlan(update) : (plans[id]?.approved ?? null),
        steps: stepStatuses(update),
      },
    };
  const older = Object.entries(plans).map(([key, plan]): [string, PlanStanding] => [
    key,
    plan.state === "open" ? { state: "superseded", approved: null } : plan,
  ]);
  return { ...Object.fromEntries(older), [id]: standing };
}

/** What events told already is newer. */
export function withProgress(known: PlanStandings, plans: readonly PlanProgress[]): PlanStandings {
  return plans
    .filter(({ message_id }) => !(message_id in known))
    .reduce((all, { message_id, status, steps }) => withPlan(all, { message_id, status, steps }), known);
}

function stepStatuses(update: Record<string, unknown>): Readonly<Record<string, string>> {
  const steps = Array.isArray(update["steps"]) ? update["steps"].map(loose) : [];
  return Object.fromEntries(steps.map((step) => [text(step["id"]), text(step["status"])]));
}
