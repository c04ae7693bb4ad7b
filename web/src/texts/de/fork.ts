// German texts of fork.
import type { Texts } from "../fork";

export const fork: Texts = {
  editAndResend: "Bearbeiten und erneut senden",
  regenerate: "Neu erzeugen",
  forkFromHere: "Ab hier abzweigen",
  theNewChatHas: "Ein neuer Chat geht ab hier weiter. Dieser Chat bleibt, wie er ist.",
  message: "Neue Nachricht",
  files: "Dateien",
  leaveFiles: "Dateien lassen, wie sie sind",
  restoreFiles: "Dateien von damals wiederherstellen",
  copyFiles: "Dateien von damals in einen neuen Ordner kopieren",
  aboutTheCopy:
    "Der neue Chat arbeitet in einem neuen Ordner neben diesem. Die Dateien hier bleiben, wie sie sind. Wird der Chat gelöscht, bleibt der Ordner.",
  nothingToRestore: "Die Dateien sind schon wie damals.",
  wouldChange: "Was sich ändern würde",
  changedSince: "Seitdem von jemand anderem geändert: Diese Änderungen gingen verloren",
  looking: "Dateien werden geprüft…",
  fork: "Abzweigen",
  send: "Senden",
  cancel: "Abbrechen",
};
