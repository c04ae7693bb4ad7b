// Texts of workflows.
import { translated } from "./language";

export const en = {
  workflows: "Workflows",
  notTrusted: "not trusted",
  findAWorkflow: "Find a workflow",
  noWorkflowFitsTheseWords: "No workflow found.",
  thereIsNoWorkflowHere: "There is no workflow here yet.",
  writeYourOwn: "Write your own:",
  anycoworkWorkflowNewName: "anycowork workflow new NAME",
  makesACommentedFileTo: "makes a commented file to begin with. A team keeps its workflows in",
  anycoworkWorkflows: ".anycowork/workflows/",
  ofTheFolder: "of the folder.",
  anotherRole: "another role",
  text1FileGivesNoWorkflow: "1 file gives no workflow",
  filesGiveNoWorkflow: (count: string | number) => `${count} files give no workflow`,
  it: (fault: string | number) => `It ${fault}.`,
  choose: "choose…",
  aFileOrFolder: "a file or folder",
  someValuesDoNotFit: "Some values are not valid. See above.",
  run: "Run",
  allWorkflows: "All workflows",
  theAgentIsAtWork: "The agent is working in this chat. Stop it, or wait until it is done.",
  mayNotRunThisIt: (title: string | number, value: string | number) => `${title} may not run this: it needs ${value}.`,
  switchTo: (title: string | number) => `Switch to ${title}`,
  oneStep: "One step",
  steps: (count: string | number) => `${count} steps`,
  waitsForYou: "waits for you",
  ofSteps: (of: string | number, of2: string | number) => `${of} of ${of2} steps`,
  workflow: "Workflow",
  notTrustedItIsNot: "not trusted: it is not used",
  trusted: "trusted",
  look: "Look",
  trustItNoLonger: "Stop trusting",
  trustThisContent: "Trust this content",
  reading: "Reading…",
  thisPageCannotShowIt: "This page cannot show it. Open",
  beforeYouTrustIt: "before you trust it.",
  contentOf: (path: string | number) => `Content of ${path}`,
  thisWorkflowComesWithThe:
    "This workflow comes with the folder. It tells agents what to do, so it runs only once you have read and trusted it; if it changes, you are asked again.",
  found: (count: number) =>
    `${count === 1 ? "1 workflow" : `${count} workflows`}: arrow keys choose, Enter opens, Tab completes.`,
  states: {
    running: "running",
    completed: "completed",
    failed: "failed",
    stopped: "stopped",
    interrupted: "interrupted",
  },
  stepOf: (step: number, of: number) => `step ${step} of ${of}`,
};

export type Texts = typeof en;
export const t = translated("workflows", en);
