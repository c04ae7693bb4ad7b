// Texts of state.
import { translated } from "./language";

export const en = {
  aPlanIsWaitingFor: "A plan is waiting for your approval.",
  theAgentStoppedAtA: "The agent stopped at a limit. You can continue.",
  theAgentWasInterruptedYou: "The agent was interrupted. You can continue.",
  thePlanIsBlockedYou: "The plan is blocked. You can continue.",
  theTurnEndedEarly: "The turn ended early.",
  anApprovalIsWaiting: (tool: string | number) => `An approval is waiting: ${tool}`,
  theAgentHasAQuestion: "The agent has a question for you.",
  theAgentHasFinished: "The agent has finished.",
};

export type Texts = typeof en;
export const t = translated("state", en);
