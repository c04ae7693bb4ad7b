// Texts of checkpoints.
import { translated } from "./language";

export const en = {
  theFilesAreAsThey: "The files were restored.",
  undo: "Undo",
  restoreTheFiles: "Restore the files?",
  checkpoints: "Checkpoints",
  everyChangeOfThisChat: "Every change in this chat. You can restore the files as they were before it.",
  nothingWasChangedInThis: "Nothing has changed in this chat yet.",
  showOlderChanges: "Show older changes",
  oneTurn: "One turn",
  restoreToBeforeAll: (count: string | number) => `Restore to before all ${count}`,
  changesOneByOne: (count: string | number) => `${count} changes, one by one`,
  itsContentMadeRoomFor: "Too old: its content was removed to save space.",
  notWhileTheAgentWorks: "Not while the agent works.",
  restoredEarlier: "Restored an earlier state",
  aChange: "A change",
  aPersonsChange: "A change by a person, not by the agent",
  restoreToBeforeThis: "Restore to before this",
  whatChanged: "What changed",
  linesNotCounted: (files: number) => `${files.toLocaleString("en")} files, lines not counted`,
  theFilesAreAlreadyAs: "The files are already in that state.",
  filesWillChange: (count: number) =>
    `${count === 1 ? "1 file" : `${count.toLocaleString("en")} files`} will change. You can undo it.`,
  onlyIn: "Only this folder or file",
  emptyForAll: "Empty for all.",
  showOnlyThis: "Show",
  changedBySomeoneElse: "Changed by someone else",
  changedBySomeoneElseMeanwhile: "Changed by someone else meanwhile",
  overwrite: "Overwrite",
  overwriteAll: (count: number) => `Overwrite all ${count.toLocaleString("en")}`,
  unkept: (count: number, first: string) =>
    `${count === 1 ? "1 file" : `${count.toLocaleString("en")} files`} in folders that git ignores will stay as they are: their older content was not kept (${first}).`,
  whatWouldChange: "What would change",
  lookingAtTheFiles: "Looking at the files…",
  restored: (done: number, total: number) => `${done.toLocaleString("en")} of ${total.toLocaleString("en")} restored`,
  progress: "Progress",
  stop: "Stop",
  stoppingKeepsWhatIsRestored: "If you stop, what is restored so far stays. You can undo it, or go on later.",
  restoredTo: (parts: readonly string[]) =>
    `Files were restored to an earlier state: ${parts.join(", ") || "every file is as it was then"}.`,
  changedFiles: (restored: number, removed: number) => {
    const files = (count: number) => (count === 1 ? "1 file" : `${count.toLocaleString("en")} files`);
    if (restored === 0) return removed === 0 ? [] : [`${files(removed)} removed`];
    return [`${files(restored)} restored`, ...(removed === 0 ? [] : [`${removed.toLocaleString("en")} removed`])];
  },
  keptFolders: (count: number) =>
    count === 1
      ? "1 folder kept because it contains other files"
      : `${count} folders kept because they contain other files`,
  unkeptFiles: (count: number) =>
    `${count} in folders that git ignores left as they are, because their older content was not kept`,
  leftUnchanged: (count: number, first: string, reason: string) =>
    `${count} left unchanged (${first}: ${reason.replace(/\.$/, "")})`,
  notReached: (count: number) => `${count} not reached because it was stopped (restore again to go on)`,
  keepAsItIs: "Keep as it is",
  restore: "Restore",
};

export type Texts = typeof en;
export const t = translated("checkpoints", en);
