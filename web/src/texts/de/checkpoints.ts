// German texts of checkpoints.
import type { Texts } from "../checkpoints";

export const checkpoints: Texts = {
  theFilesAreAsThey: "Die Dateien wurden wiederhergestellt.",
  undo: "Rückgängig",
  restoreTheFiles: "Die Dateien wiederherstellen?",
  checkpoints: "Checkpoints",
  everyChangeOfThisChat:
    "Jede Änderung in diesem Chat. Sie können die Dateien so wiederherstellen, wie sie davor waren.",
  nothingWasChangedInThis: "In diesem Chat wurde noch nichts geändert.",
  showOlderChanges: "Ältere Änderungen anzeigen",
  oneTurn: "Ein Zug",
  restoreToBeforeAll: (count: string | number) => `Stand vor allen ${count} wiederherstellen`,
  changesOneByOne: (count: string | number) => `${count} Änderungen einzeln`,
  itsContentMadeRoomFor: "Zu alt: Der Inhalt wurde entfernt, um Platz zu sparen.",
  notWhileTheAgentWorks: "Nicht, während der Agent arbeitet.",
  restoredEarlier: "Früheren Stand wiederhergestellt",
  aChange: "Eine Änderung",
  aPersonsChange: "Eine Änderung von einem Menschen, nicht vom Agenten",
  restoreToBeforeThis: "Stand davor wiederherstellen",
  whatChanged: "Was geändert wurde",
  linesNotCounted: (files: number) => `${files.toLocaleString("de")} Dateien, Zeilen nicht gezählt`,
  theFilesAreAlreadyAs: "Die Dateien sind schon in diesem Zustand.",
  filesWillChange: (count: number) =>
    `${count === 1 ? "1 Datei wird" : `${count.toLocaleString("de")} Dateien werden`} geändert. Sie können es rückgängig machen.`,
  onlyIn: "Nur dieser Ordner oder diese Datei",
  emptyForAll: "Leer für alle.",
  showOnlyThis: "Anzeigen",
  changedBySomeoneElse: "Von jemand anderem geändert",
  changedBySomeoneElseMeanwhile: "Inzwischen von jemand anderem geändert",
  overwrite: "Überschreiben",
  overwriteAll: (count: number) => `Alle ${count.toLocaleString("de")} überschreiben`,
  unkept: (count: number, first: string) =>
    `${count === 1 ? "1 Datei" : `${count.toLocaleString("de")} Dateien`} in von Git ignorierten Ordnern bleiben, wie sie sind: Der ältere Inhalt wurde nicht aufbewahrt (${first}).`,
  whatWouldChange: "Was sich ändern würde",
  lookingAtTheFiles: "Dateien werden geprüft…",
  restored: (done: number, total: number) =>
    `${done.toLocaleString("de")} von ${total.toLocaleString("de")} wiederhergestellt`,
  progress: "Fortschritt",
  stop: "Anhalten",
  stoppingKeepsWhatIsRestored:
    "Wenn Sie anhalten, bleibt, was schon wiederhergestellt ist. Sie können es rückgängig machen oder später fortsetzen.",
  restoredTo: (parts: readonly string[]) =>
    `Die Dateien sind wieder in einem früheren Zustand: ${parts.join(", ") || "jede Datei ist, wie sie damals war"}.`,
  changedFiles: (restored: number, removed: number) => {
    const files = (count: number) => (count === 1 ? "1 Datei" : `${count.toLocaleString("de")} Dateien`);
    if (restored === 0) return removed === 0 ? [] : [`${files(removed)} entfernt`];
    return [
      `${files(restored)} wiederhergestellt`,
      ...(removed === 0 ? [] : [`${removed.toLocaleString("de")} entfernt`]),
    ];
  },
  keptFolders: (count: number) =>
    count === 1
      ? "1 Ordner bleibt, weil er andere Dateien enthält"
      : `${count} Ordner bleiben, weil sie andere Dateien enthalten`,
  unkeptFiles: (count: number) =>
    `${count} in von Git ignorierten Ordnern unverändert, weil ihr älterer Inhalt nicht aufbewahrt wurde`,
  leftUnchanged: (count: number, first: string, reason: string) =>
    `${count} unverändert (${first}: ${reason.replace(/\.$/, "")})`,
  notReached: (count: number) => `${count} nicht erreicht, weil angehalten wurde (erneut wiederherstellen setzt fort)`,
  keepAsItIs: "So lassen",
  restore: "Wiederherstellen",
};
