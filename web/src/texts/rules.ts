// Texts of rules.
import { translated } from "./language";

export const en = {
  aCallBelongsToA: "Rules are checked for a chat. Start one, then test a call here.",
  whichRuleDecides: "Which rule decides?",
  toolOfTheCall: "Tool of the call",
  fileCommandOrParametersAs: "File, command, or parameters as JSON",
  inTheChat: "In the chat",
  explain: "Explain",
  theRule: (rule: string | number) => `The rule: ${rule}`,
  noRuleOfYoursSpoke: "No rule matched.",
  becomes: "becomes",
  effect: "Effect",
  where: "Where",
  everywhere: "everywhere",
  tool: "Tool",
  filePatternOrCommand: "File pattern or command",
  add: "Add",
  tryOnPastCalls: "Test on past calls",
  cancel: "Cancel",
  noRulesYetReadingPasses: "No rules yet. Reading is allowed; everything else asks first.",
  addARule: "Add a rule",
  inOneChat: "in one chat",
  inOneFolder: "in one folder",
  until: (value: string | number) => ` · until ${value}`,
  revoke: (effect: string | number, tool: string | number, resource: string | number) =>
    `Revoke: ${effect} ${tool} ${resource}`,
  keptAsARule: "Saved as a rule",
  keptAsRules: (count: string | number) => `Saved as ${count} rules`,
  askAbout: "ask about",
  everyTool: "every tool",
  on: (verb: string | number, what: string | number, where: string | number) => `${verb} ${what} on ${where}`,
  wouldHaveDecided: (matched: number, of: number, changed: number) =>
    `It would have decided ${matched} of the last ${of} calls, ${changed === 0 ? "none of them" : changed} differently.`,
  decide: "decide",
  everything: "everything",
  effects: { allow: "allow", ask: "ask", deny: "deny" },
  toolHint: "The name that a call shows",
};

export type Texts = typeof en;
export const t = translated("rules", en);
