// German texts of forks: edit and resend, regenerate, go on in a new chat.
import type { Texts } from "../fork";

export const fork: Texts = {
  editAndResend: "Bearbeiten und neu senden",
  regenerate: "Neu erzeugen",
  forkFromHere: "Von hier abzweigen",
  theNewChatHas: "Ein neuer Chat geht von hier aus weiter. Dieser Chat bleibt, wie er ist.",
  message: "Neue Nachricht",
  files: "Dateien",
  leaveFiles: "Dateien lassen, wie sie sind",
  restoreFiles: "Dateien wiederherstellen, wie sie damals waren",
  nothingToRestore: "Die Dateien sind schon so, wie sie damals waren.",
  wouldChange: "Was sich ändern würde",
  changedSince: "Seitdem von jemand anderem geändert: Diese Änderungen gingen verloren",
  overwrite: (path: string) => `${path} überschreiben`,
  looking: "Die Dateien werden geprüft…",
  fork: "Abzweigen",
  send: "Senden",
  cancel: "Abbrechen",
};
