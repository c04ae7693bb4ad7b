// German texts of the workers.
import type { Texts } from "../workers";

export const workers: Texts = {
  page: "Worker",
  title: "Worker",
  about:
    "Rechner, die die Befehle der Aufgaben eines Auftrags ausführen. Sie brauchen nur das Programm und die Adresse dieses Servers.",
  none: "Noch keine Worker. Dieser Server führt alles selbst aus.",
  invite: "Worker einladen",
  labels: "Labels, die er anbieten darf",
  labelsExample: "Labels (freiwillig)",
  runThere:
    "Führen Sie dies auf dem anderen Rechner aus, mit einer Adresse dieses Servers, die er erreicht. Es gilt einmal, eine Stunde lang.",
  theCommand: "Der Befehl für den neuen Worker",
  copyCommand: "Befehl kopieren",
  done: "Fertig",
  load: (tasks) => (tasks === 0 ? "frei" : tasks === 1 ? "1 Aufgabe" : `${tasks} Aufgaben`),
  cache: (size) => `${size} im Cache`,
  ofTheDatabase: "übernimmt ganze Aufträge",
  since: (date) => `seit ${date.toLocaleString("de")}`,
  refused: (reason) => `Erhält keine Aufgaben: ${reason}`,
  remove: (host) => `Den Worker auf ${host} entfernen`,
  removed: (host) => `Der Worker auf ${host} wurde entfernt. Zurück kommt er nur mit einer neuen Einladung.`,
};
