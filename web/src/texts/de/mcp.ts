// German texts of MCP servers.

import type { Texts } from "../mcp";
import { bytesText } from "./format";

export const mcp: Texts = {
  title: "MCP-Server",
  about:
    "Programme und Adressen, deren Werkzeuge Agenten benutzen dürfen. Jeder Aufruf fragt, bis Sie anders entscheiden; Programme laufen in der Sandbox.",
  servers: "MCP-Server",
  none: "Noch keine MCP-Server. Fügen Sie unten einen hinzu.",
  status: {
    connecting: "verbindet sich",
    ready: "bereit",
    failed: "fehlgeschlagen",
    disabled: "getrennt",
  },
  signIn: "Anmelden",
  signInName: (name: string) => `Bei ${name} anmelden`,
  signInOpened: (name: string) => `Melden Sie sich auf der geöffneten Seite bei ${name} an.`,
  signInPage: (name: string) => `Anmeldeseite von ${name} öffnen`,
  install: (command: string) => `Installieren mit: ${command}`,
  test: "Testen",
  testName: (name: string) => `${name} testen`,
  testing: "Wird getestet …",
  works: (count: number) => `Er funktioniert und bietet ${count === 1 ? "1 Werkzeug" : `${count} Werkzeuge`} an.`,
  remove: (name: string) => `${name} entfernen`,
  removeTitle: (name: string) => `${name} entfernen?`,
  removeWords: "Seine Einstellungen und die Werte seiner Variablen werden gelöscht.",
  confirmRemove: "Entfernen",
  deleteData: (bytes: number | null) => `Auch löschen, was er aufbewahrt hat (${sizeOf(bytes)})`,
  edit: (name: string) => `${name} bearbeiten`,
  save: "Speichern und testen",
  cancel: "Abbrechen",
  removed: (name: string) => `${name} ist entfernt.`,
  toolsOf: (name: string, count: number) => `Werkzeuge von ${name} (${count})`,
  offer: "Anbieten",
  offerTool: (tool: string) => `${tool} anbieten`,
  readOnly: "Nur lesend",
  markReadOnly: (tool: string) => `${tool} liest nur`,
  readOnlyHint:
    "Markieren Sie ein Werkzeug nur dann als lesend, wenn Sie wissen, dass es nichts ändert: Solche Aufrufe werden nicht gefragt.",
  sampling: "Darf Ihr Modell fragen",
  samplingOf: (name: string) => `${name} darf Ihr Modell fragen`,
  samplingHint: "Sie sehen jede Anfrage und entscheiden. Sie bezahlen sie.",
  refusedHost: (host: string) => `Er wollte ${host} erreichen, das nicht in der Liste seiner Rechner steht.`,
  allowHost: (host: string) => `${host} erlauben und erneut versuchen`,
  starting: (name: string) => `Was ${name} beim Starten ausgibt`,
  accessShort: {
    none: "Sieht keinen Arbeitsordner.",
    read: "Liest den Arbeitsordner.",
    layer: "Darf Dateien des Arbeitsordners ändern; das lässt sich rückgängig machen.",
  },
  keeps: (bytes: number | null) => `Sein Datenordner enthält ${sizeOf(bytes)}.`,
  clean: "Daten löschen",
  cleanName: (name: string) => `Daten von ${name} löschen`,
  cleanTitle: (name: string) => `Daten von ${name} löschen?`,
  cleanWords: (bytes: number | null) =>
    `Was er aufbewahrt hat (${sizeOf(bytes)}), wird endgültig gelöscht, und er startet neu.`,
  cleaned: (name: string) => `Die Daten von ${name} sind gelöscht.`,
  leftData: "Daten entfernter Server",
  leftBy: (name: string, bytes: number | null) => `${name} wurde entfernt und hat ${sizeOf(bytes)} hinterlassen.`,
  logOf: (name: string) => `Protokoll von ${name}`,
  emptyLog: "Es hat nichts ausgegeben.",
  problems: (name: string) => `Von ${name} nicht angeboten`,
  add: "Server hinzufügen",
  catalogue: "Bekannte Server",
  choose: "Wählen Sie einen, um das Formular auszufüllen; das Programm muss installiert sein.",
  name: "Name",
  nameHint: "Kleinbuchstaben und Ziffern",
  target: "Programm oder Adresse",
  targetHint: "etwa /opt/venv/bin/mcp-server-git oder https://example.org/mcp",
  network: "Rechner, die es erreichen darf",
  networkHint: "durch Leerzeichen getrennt; ohne Angabe keine",
  access: "Was er vom Arbeitsordner sieht",
  accessOf: {
    none: "Nichts",
    read: "Die Dateien, nur lesend",
    layer: "Die Dateien, und er darf sie ändern",
  },
  layerHint:
    "Er wird für jeden Aufruf gestartet und vergisst daher, was er im Speicher hatte. Seine Änderungen werden geprüft und lassen sich rückgängig machen wie die eines Befehls.",
  dataFolder: "Einen eigenen Ordner behalten",
  dataFolderHint:
    "Sein Benutzerordner /home/sandbox bleibt erhalten; was dort geschieht, wird nicht mit einem Chat rückgängig gemacht.",
  variables: "Variablen",
  variablesHint: "KEY=Wert, eine je Zeile; Werte werden nie wieder angezeigt",
  headers: "Kopfzeilen",
  headersHint: "KEY=Wert, eine je Zeile; Werte werden nie wieder angezeigt",
  storedVariables: "Gespeicherte Werte, die bleiben",
  keepVariable: (variable: string) => `${variable} behalten`,
  addButton: "Hinzufügen und testen",
};

function sizeOf(bytes: number | null): string {
  return bytes === null ? "unbekannt viel" : bytesText(bytes);
}
