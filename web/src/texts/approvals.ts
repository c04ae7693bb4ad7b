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
  scrollToTheEndTo: "Scroll to the end before you allow it.",
  itHasRun: "It has run",
  whatItChanged: "What it changed",
  whatWouldChange: "What would change",
  itHasRunItsChanges: "It has run. Its changes wait for your decision; if you deny them, they are discarded.",
  itWantsToReach: "It wants to connect to:",
  itCanSendDataTo: "It can send data to",
  sendsAndReceivesThere: "It can send data there, and receive instructions from there.",
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
  highRisk: "high risk",
  allowAll: (count: number) => `Allow all ${count}`,
  showAll: (count: number) => `Show all ${count}`,
  whereItCameFrom: "Where the agent's words came from",
  agentHasRead: (origins: string) => `The agent has read what nobody vouched for: ${origins}. It said:`,
  callGoesTo: (sinks: string) => `With it, the call goes to: ${sinks}.`,
  origins: {
    workspace: (_: string) => "files of this folder",
    web: (host: string) => `a page of ${host}`,
    git: (host: string) => `a repository of ${host}`,
    mcp: (server: string) => `the MCP server ${server}`,
    delegate: (name: string) => `the agent ${name}`,
    attachment: (_: string) => "an attached file",
    import: (_: string) => "an imported or older chat",
  },
  sinks: {
    network: (host: string) => host,
    mcp: (tool: string) => `the MCP tool ${tool}`,
    push: (host: string) => `a push to ${host}`,
    control_file: (path: string) => `the control file ${path}`,
    key_file: (path: string) => `the key file ${path}`,
    task: (name: string) => `another agent (${name})`,
    unsandboxed: (command: string) => `a command without the sandbox (${command})`,
  },
};

export type Texts = typeof en;
export const t = translated("approvals", en);
