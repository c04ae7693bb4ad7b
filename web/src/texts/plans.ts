// Texts of plans.
import { translated } from "./language";

export const en = {
  planAgainstActual: "Plan against actual",
  basedOnRecordedToolCalls: "Based on recorded tool calls, not on what the model says.",
  noPlanWasApprovedIn: "No plan was approved in this chat yet.",
  theAgentFinished: "the agent finished",
  waitsForAnAnswer: "waits for an answer",
  endedAtALimit: "ended at a limit",
  blockedTheAgentStoppedWhile: "blocked: the agent stopped while steps were open",
  plan: (goal: string | number) => `Plan: ${goal}`,
  aPlan: "A plan",
  atWork: "at work",
  budget: (budget: string | number) => `Budget: ${budget}`,
  whatWasMeant: "Planned",
  whatWasDone: "Done",
  outsideThePlan: "Outside the plan",
  oneMoreCallOnlyRead: "1 more call only read files.",
  moreCallsOnlyRead: (value: string | number) => `${value} more calls only read files.`,
  thePlanSoFar: "The plan so far",
  of: (done: string | number, count: string | number) => `${done} of ${count}`,
  outsideThePlan2: (count: string | number) => `${count} outside the plan`,
  step: (number: string | number) => `Step ${number}:`,
  noRecordedCallProvesIt: "No recorded call proves it.",
  noCallWasMadeFor: "No call was made for it.",
  neverTouched: (untouched: string | number) => `Not changed: ${untouched}`,
  wasNotRun: "was not run",
  check: "Check",
  notDone: "not done",
  theAgentSaysItIs: "the agent says it is done",
  personAllowedIt: (name: string) => `${name} allowed it`,
  youAllowedIt: "you allowed it",
  allowedByThePlan: "allowed by the plan",
  allowedByARule: "allowed by a rule",
  allowedByDefault: "allowed by default",
  stepsDone: (done: number, of: number) => `${done} of ${of} steps`,
  states: { failed: "failed", stopped: "stopped", interrupted: "interrupted", done: "done", skipped: "skipped" },
  passed: "passed",
  failedWith: (code: number | null | undefined) => (code == null ? "failed" : `failed with exit code ${code}`),
};

export type Texts = typeof en;
export const t = translated("plans", en);
