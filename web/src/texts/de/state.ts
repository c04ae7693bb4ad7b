// German texts of state.
import type { Texts } from "../state";

export const state: Texts = {
  aPlanIsWaitingFor: "Ein Plan wartet auf Ihre Freigabe.",
  theAgentStoppedAtA: "Der Agent hielt an einer Grenze an. Sie können fortsetzen.",
  theAgentWasInterruptedYou: "Der Agent wurde unterbrochen. Sie können fortsetzen.",
  thePlanIsBlockedYou: "Der Plan ist blockiert. Sie können fortsetzen.",
  theTurnEndedEarly: "Der Zug endete vorzeitig.",
  anApprovalIsWaiting: (tool: string | number) => `Eine Freigabe wartet: ${tool}`,
  theAgentHasAQuestion: "Der Agent hat eine Frage an Sie.",
  theAgentHasFinished: "Der Agent ist fertig.",
};
