// First requests that are known to work: plain ones for the guide, which understands nothing else, and freer ones for a model.
import { t } from "../texts/chat";

const GUIDE: Record<string, readonly string[]> = {
  planner: [t.planCreateHelloTxtWith, t.listTheFiles],
  actor: [t.createHelloTxtWithHello, t.listTheFiles],
  reviewer: [t.reviewWelcomeTxt, t.searchForTodo],
  tester: [t.runLsL],
  designer: [t.createIdeasMdWithIdeas],
};

const MODEL: Record<string, readonly string[]> = {
  planner: [t.lookAroundAndPlanHow, t.planTheNextSensibleStep],
  actor: [t.explainWhatIsInThis, t.findTheTodosAndFix],
  reviewer: [t.reviewTheNewestChanges],
  tester: [t.runTheTestsAndTell],
  designer: [t.draftAReadmeForThis],
  commander: [t.splitThisProjectsOpenWork],
};

export function examplesFor(role: string, guide: boolean): readonly string[] {
  const known = guide ? GUIDE : MODEL;
  return known[role] ?? (role === "commander" ? known["planner"] : known["actor"]) ?? [];
}
