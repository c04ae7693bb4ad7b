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
  tooltips: {
    planner: "Planner reads and plans. It cannot change anything or run commands.",
    actor: "Actor carries out the work: it reads, changes, creates and deletes files and runs commands.",
    commander: "Commander reads, plans and hands tasks to planners and actors. It changes nothing itself.",
    designer: "Designer reads and creates new files. It never changes or deletes what is there.",
    reviewer: "Reviewer reads and gives a structured review. It changes nothing.",
    tester: "Tester reads and runs checks. The source stays as it is, whatever a command does.",
  } as Record<string, string>,
  mayDoNothing: "has no permissions",
  may: {
    read_files: "reads",
    write_files: "changes",
    create_files: "creates",
    delete_files: "deletes",
    execute_commands: "runs commands",
  } as Record<string, string>,
  permissions: {
    read_files: "Read files",
    write_files: "Change files",
    create_files: "Create files",
    delete_files: "Delete files",
    execute_commands: "Run commands",
  } as Record<string, string>,
  otherUses: {
    move: "Move files",
    fetch: "Read web pages",
    search_web: "Search the web",
    ask: "Ask other agents",
  } as Record<string, string>,
};

export type Texts = typeof en;
export const t = translated("roles", en);
