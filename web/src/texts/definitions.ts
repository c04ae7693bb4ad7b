// Texts of the roles and workflows that people write.
import { translated } from "./language";

export const en = {
  newRole: "New role",
  newWorkflow: "New workflow",
  view: (name: string) => `View ${name}`,
  edit: (name: string) => `Edit ${name}`,
  duplicate: (name: string) => `Duplicate ${name}`,
  remove: (name: string) => `Delete ${name}`,
  sources: { built_in: "built in", data: "yours", workspace: "of the workspace", mcp: "of an MCP server" } as Record<
    string,
    string
  >,
  back: "Back",
  save: "Save",
  saving: "Saving…",
  cancel: "Cancel",
  name: "Name",
  nameHint: "lower-case letters, digits and _",
  roleNameHint: "lower-case letters, digits, _ and -",
  description: "Description",
  descriptionHint: "shown where a role is chosen",
  permissions: "Permissions",
  permissionsAtOnce: "A change applies at once to every chat in this role, and is recorded in each of them.",
  output: "Answers with",
  outputs: { text: "Text", plan: "A plan", review: "A review" } as Record<string, string>,
  delegates: "May give tasks to",
  delegatesAbout: "The workers of a job have the permissions of these roles too.",
  colour: "Colour",
  colours: {
    grey: "Grey",
    blue: "Blue",
    green: "Green",
    purple: "Purple",
    pink: "Pink",
    amber: "Amber",
    teal: "Teal",
    red: "Red",
  } as Record<string, string>,
  instructions: "Instructions",
  instructionsHint: "what an agent in this role is told",
  fault: (field: string, reason: string) => `${field} ${reason}.`,
  saved: (name: string) => `Saved ${name}.`,
  deleted: (name: string) => `Deleted ${name}.`,
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteRoleAbout: "Chats in this role have no permissions until you choose another role for them.",
  deleteWorkflowAbout: "Its file is removed. Runs that have started keep their steps.",
  deleteNow: "Delete",
  keepIt: "Keep",
  duplicateIt: "Duplicate",
  noneOfThem: "none",
  definition: "Definition",
  definitionHint: "settings between two lines of +++, then a ## title for each step",
  goToLine: (line: number) => `Go to line ${line}`,
  problem: (reason: string) => `Cannot be saved: ${reason}.`,
  fine: (steps: number, needs: string) =>
    `Valid: ${steps === 1 ? "1 step" : `${steps} steps`}. Needs: ${needs || "nothing"}.`,
  checking: "Checking…",
  copyOf: (name: string) => `${name}_copy`,
  leftOut: (path: string, reason: string) => `${path} is left out: ${reason}.`,
  starter: `+++
description = "What this workflow does, in one sentence."
category = "own"
needs = ["read_files"]

[[parameters]]
name = "path"
type = "path"
description = "the file or folder it is about"
+++

## Look at {{path}}

Read {{path}} and explain in plain words what it is for.
`,
};

export type Texts = typeof en;
export const t = translated("definitions", en);
