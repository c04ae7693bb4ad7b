// Texts of checkpoints.
import { translated } from "./language";

export const en = {
  theFilesAreAsThey: "The files are as they were at that moment.",
  undo: "Undo",
  goBackToThisMoment: "Go back to this moment?",
  checkpoints: "Checkpoints",
  everyChangeOfThisChat: "Every change of this chat, and the way back to the moment before it.",
  nothingWasChangedInThis: "Nothing was changed in this chat yet.",
  showOlderChanges: "Show older changes",
  oneTurn: "One turn",
  goBackToBeforeAll: (count: string | number) => `Go back to before all ${count}`,
  changesOneByOne: (count: string | number) => `${count} changes, one by one`,
  itsContentMadeRoomFor: "Its content made room for newer ones.",
  notWhileTheAgentWorks: "Not while the agent works.",
  wentBack: "Went back",
  aChange: "A change",
  goBackToBeforeThis: "Go back to before this",
  whatChanged: "What changed",
  theFilesAreAlreadyAs: "The files are already as they were at that moment.",
  theseFilesWouldChangeIt: "These files would change. It can be undone.",
  changedBySomeoneElse: "Changed by someone else",
  changedBySomeoneElseMeanwhile: "Changed by someone else meanwhile",
  overwrite: "Overwrite",
  whatWouldChange: "What would change",
  keepAsItIs: "Keep as it is",
  goBack: "Go back",
};

export type Texts = typeof en;
export const t = translated("checkpoints", en);
