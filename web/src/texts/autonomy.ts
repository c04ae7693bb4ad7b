// Texts of autonomy.
import { translated } from "./language";

export const en = {
  youAllowedSeveralFileChanges: "You allowed several file changes in this chat.",
  youAllowedSeveralCommandsIn: "You allowed several commands in this chat.",
  autonomy: (title: string | number) => `Autonomy: ${title}?`,
  notNow: "Not now",
  switchTo: (title: string | number) => `Switch to ${title}`,
  autonomyChange: (title: string | number) => `Autonomy: ${title}. Change`,
  autonomyTakesTheNextLevel: (title: string | number, does: string | number, keys: string | number) =>
    `Autonomy: ${title}. ${does} (${keys} takes the next level)`,
  autonomy2: "Autonomy",
  whatPassesWithoutAsking: "What is allowed without asking?",
  currentLevel: "current level",
  ask: "Ask",
  everyChangeAndEveryCommand: "Every change and every command asks you first.",
  edits: "Edits",
  fileChangesPassDeletingCommands: "File changes are allowed. Deleting, commands, control files and secrets ask first.",
  sandboxed: "Sandboxed",
  commandsPassTooInThe: "Commands are allowed too, in the sandbox and without network. Deleting your files asks.",
  notOfferedThisMachinesSandbox:
    "Not available: the sandbox of this machine is incomplete, so commands are not confined.",
};

export type Texts = typeof en;
export const t = translated("autonomy", en);
