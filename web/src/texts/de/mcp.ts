// German texts of MCP servers.
import type { Texts } from "../mcp";

export const mcp: Texts = {
  title: "MCP-Server",
  about:
    "Programme und Adressen, deren Werkzeuge Agenten benutzen dürfen. Jeder Aufruf fragt, bis du anders entscheidest; Programme laufen in der Sandbox.",
  servers: "MCP-Server",
  none: "Noch keine MCP-Server. Füge unten einen hinzu.",
  status: {
    connecting: "verbindet sich",
    ready: "bereit",
    failed: "fehlgeschlagen",
    disabled: "getrennt",
  },
  test: "Testen",
  testName: (name: string) => `${name} testen`,
  testing: "Wird getestet …",
  works: (name: string, count: number) => `${name} funktioniert: ${count === 1 ? "1 Werkzeug" : `${count} Werkzeuge`}.`,
  fails: (name: string, error: string) => `${name} ist fehlgeschlagen: ${error}`,
  remove: (name: string) => `${name} entfernen`,
  removed: (name: string) => `${name} ist entfernt.`,
  toolsOf: (name: string, count: number) => `Werkzeuge von ${name} (${count})`,
  offer: "Anbieten",
  offerTool: (tool: string) => `${tool} anbieten`,
  readOnly: "Nur lesend",
  markReadOnly: (tool: string) => `${tool} liest nur`,
  readOnlyHint:
    "Markiere ein Werkzeug nur dann als lesend, wenn du weißt, dass es nichts ändert: Solche Aufrufe werden nicht gefragt.",
  logOf: (name: string) => `Protokoll von ${name}`,
  emptyLog: "Es hat nichts ausgegeben.",
  problems: (name: string) => `Von ${name} nicht angeboten`,
  add: "Server hinzufügen",
  catalogue: "Bekannte Server",
  choose: "Wähle einen, um das Formular auszufüllen; das Programm muss installiert sein.",
  name: "Name",
  nameHint: "Kleinbuchstaben und Ziffern",
  target: "Programm oder Adresse",
  targetHint: "etwa /opt/venv/bin/mcp-server-git oder https://example.org/mcp",
  network: "Rechner, die es erreichen darf",
  networkHint: "durch Leerzeichen getrennt; ohne Angabe keine",
  addButton: "Hinzufügen und testen",
};
