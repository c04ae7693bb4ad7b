// Texts of approvals.
import { translated } from "./language";

export const en = {
  approvals: "Approvals",
  callsWaitForYou: (count: string | number) => `${count} calls wait for you`,
  keepWhatItChanged: "Keep what it changed?",
  mayTheAgentDoThis: "May the agent do this?",
  denyAll: "Deny all",
  theCallBefore: "Previous call",
  of: (at: string | number, of: string | number) => `${at} of ${of}`,
  theNextCall: "Next call",
  allowOnce: "Allow once",
  deny: "Deny",
  inThisChat: (rule: string | number) => `In this chat: ${rule}`,
  allowInThisChat: "Allow in this chat",
  inThisFolderFromNow: (rule: string | number) => `In this folder, from now on: ${rule}`,
  alwaysAllow: "Always allow",
  theseTwoKeepARule: (rule: string | number) =>
    `These two save a rule: ${rule}. You can remove it in Settings → Permissions.`,
  theseTwoKeepARuleForAll: (rule: string) =>
    `These two save a rule for everybody, in this chat or in this folder: ${rule}. An admin can remove it.`,
  scrollToTheEndTo: "Scroll to the end before you allow it. Y scrolls.",
  itHasRun: "It has run",
  whatItChanged: "What it changed",
  whatWouldChange: "What would change",
  itHasRunItsChanges: "It has run. Its changes wait for your decision; if you deny them, they are discarded.",
  itWantsToReach: "It wants to connect to:",
  everyPathThatItChanged: "Every path that it changed",
  allThatWasGiven: (tool: string | number) => `All that ${tool} was given`,
  showMore: (missing: string | number) => `Show ${missing} more`,
  hasRun: "has run",
  usesTheNetwork: "uses the network",
  notInThePlan: "not in the plan",
  aWordToTheAgent: "Message to the agent",
  whyNotOrWhatInstead: "Why not, or what instead? (optional)",
  denyAll2: (count: string | number) => `Deny all ${count}`,
  alwaysDeny: "Always deny",
  alwaysDenySavesARule: (rule: string) =>
    `“Always deny” saves a rule: ${rule}. You can remove it in Settings → Permissions.`,
  alwaysDenySavesARuleForAll: (rule: string) =>
    `“Always deny” saves a rule for everybody in this folder: ${rule}. An admin can remove it.`,
  back: "Back",
  controlFile: "control file",
  lowRisk: "low risk",
  mediumRisk: "medium risk",
  highRisk: "high risk",
  allowAll: (count: number) => `Allow all ${count}`,
  showAll: (count: number) => `Show all ${count}`,
};

export type Texts = typeof en;
export const t = translated("approvals", en);
