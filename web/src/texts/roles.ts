// Texts of roles.
import { translated } from "./language";

export const en = {
  roleChangeRole: (title: string | number) => `Role: ${title}. Change role`,
  roles: "Roles",
  whoShouldTheAgentBe: "Who should the agent be?",
  currentRole: "current role",
  switchTo: (title: string | number) => `Switch to ${title}?`,
  whatIsDoneStaysDone: "What is done stays done; open approvals and questions are withdrawn.",
  keepWorking: "Keep working",
  stopAndSwitch: "Stop and switch",
  theDefinitionOfTheRole: (name: string | number) =>
    `The definition of the role '${name}' is gone. Choose another role to go on.`,
  mayDoNothing: "may do nothing",
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
