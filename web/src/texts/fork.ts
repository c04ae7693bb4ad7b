// Texts of forks: edit and resend, regenerate, go on in a new chat.
import { translated } from "./language";

export const en = {
  editAndResend: "Edit and resend",
  regenerate: "Regenerate",
  forkFromHere: "Fork from here",
  theNewChatHas: "A new chat continues from this point. This chat stays as it is.",
  message: "New message",
  files: "Files",
  leaveFiles: "Leave the files as they are",
  restoreFiles: "Restore the files as they were then",
  copyFiles: "Copy the files as they were then into a new folder",
  aboutTheCopy:
    "The new chat works in a new folder beside this one. The files here stay as they are. Deleting the chat keeps the folder.",
  nothingToRestore: "The files are already as they were then.",
  wouldChange: "What would change",
  changedSince: "Changed by someone else since then: these changes would be lost",
  looking: "Looking at the files…",
  fork: "Fork",
  send: "Send",
  cancel: "Cancel",
};

export type Texts = typeof en;
export const t = translated("fork", en);
