// German texts of git beside the chat.
import type { Texts } from "../git";

export const git: Texts = {
  reading: "Wird gelesen …",
  branch: "Branch",
  detached: "Kein Branch (losgelöster HEAD)",
  newBranch: "Neuer Branch",
  branchName: "Name des neuen Branches",
  create: "Anlegen",
  cancel: "Abbrechen",
  nothingToCommit: "Nichts weicht vom letzten Commit ab.",
  changedFiles: "Dateien, die vom letzten Commit abweichen",
  include: (path: string) => `${path} in den Commit aufnehmen`,
  notAllListed: "Es sind mehr Dateien geändert, als hier stehen.",
  message: "Commit-Nachricht",
  commit: (count: number) => (count === 1 ? "1 Datei committen" : `${count} Dateien committen`),
  committed: (count: number) => (count === 1 ? "1 Datei committet." : `${count} Dateien committet.`),
  committedAsYou: "In Ihrem Namen. Hooks werden nicht ausgeführt.",
  statuses: {
    added: "neu",
    modified: "geändert",
    deleted: "gelöscht",
    untracked: "nicht verfolgt",
    conflicted: "im Konflikt",
  },
  newFile: "Eine neue Datei. Öffnen Sie sie, um sie zu lesen.",
  reveal: "Anzeigen",
  noDifference: "Kein Unterschied im Text.",
};
