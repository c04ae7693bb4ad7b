// Texts of roles.
import { translated } from "./language";

export const en = {
  roleChangeRole: (title: string | number) => `Role: ${title}. Change role`,
  roles: "Roles",
  whoShouldTheAgentBe: "Choose a role",
  currentRole: "current role",
  switchTo: (title: string | number) => `Switch to ${title}?`,
  whatIsDoneStaysDone: "Work that is done stays. Open approvals and questions are withdrawn.",
  keepWorking: "Keep working",
  stopAndSwitch: "Stop and switch",
  theDefinitionOfTheRole: (name: string | number) =>
    `The role '${name}' no longer exists. Choose another role to continue.`,
  mayDoNothing: "has no permissions",
  may: {
    read_files: "reads",
    write_files: "changes",
    create_files: "creates",
    delete_files: "deletes",
    execute_commands: "runs commands",
  } as Record<string, string>,
};

export type Texts = typeof en;
export const t = translated("roles", en);
