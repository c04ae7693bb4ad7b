// German texts of skills and hooks.
import type { Texts } from "../skills";
import { bytesText } from "./format";

const OUTCOMES = { nothing: "kein Einwand", ask: "gefragt", deny: "abgelehnt" } as Readonly<Record<string, string>>;

export const skills: Texts = {
  skills: "Skills",
  about:
    "Anweisungen mit Dateien, die /name für eine Nachricht aktiviert. Ein Modell liest einen Skill erst, wenn Sie seinem Inhalt vertrauen. Er erlaubt nichts: Was er nicht angibt, fragt, was immer Regeln erlauben.",
  hooks: "Hooks",
  hooksAbout:
    "Eigene Befehle, die Nachrichten, Aufrufe und das Ende eines Zugs ansehen. Sie laufen in der Sandbox und können nur ablehnen, Sie fragen oder Worte und Prüfungen hinzufügen.",
  folder: "Arbeitsbereich",
  none: "Noch kein Skill. Ein Skill ist ein Ordner mit einer Datei SKILL.md: Name, Beschreibung, was er braucht, und Anweisungen; Skripte und andere Dateien können daneben liegen.",
  whereOfWorkspace: "Legen Sie ihn in einen Arbeitsbereich als",
  skillFile: ".agents/skills/NAME/SKILL.md",
  whereElse:
    "(oder unter .claude/skills), oder fügen Sie ihn hier für jeden Arbeitsbereich hinzu. Agenten anderer Hersteller lesen dieselben Dateien.",
  sources: { workspace: "im Arbeitsbereich:", data: "im Datenordner:", plugin: "aus einem Plugin:" },
  trusted: "vertraut",
  notTrusted: "nicht vertraut: wird nicht verwendet",
  changedSince: "geändert, seit Sie ihm vertrauten: wird nicht verwendet",
  unusable: "nicht verwendbar",
  declares: (name: string) => `Was ${name} angibt`,
  mayUse: "Verwendet",
  mayReach: "Befehle erreichen",
  mayChange: "Ändert",
  noTools: "nur Lesen; alles andere fragt",
  noHosts: "keinen Host",
  anyPath: "jeden Pfad, den Rolle und Regeln erlauben",
  tools: {
    read: "Dateien lesen",
    anyCommand: "jeden Befehl",
    commandsOf: (program: string) => `Befehle mit ${program}`,
    command: (command: string) => `den Befehl „${command}“`,
    write: "Dateien anlegen und ändern",
    writeIn: (paths: string) => `${paths} anlegen und ändern`,
    edit: "Dateien ändern",
    editIn: (paths: string) => `${paths} ändern`,
    pages: "Webseiten",
    pagesOf: (host: string) => `Webseiten von ${host}`,
    search: "Websuche",
    agents: "andere Agenten",
    other: (tool: string) => `das Werkzeug ${tool}`,
  },
  wrongWith: (name: string) => `Was an ${name} nicht stimmt`,
  files: "Dateien",
  readAndTrust: "Lesen, um ihm zu vertrauen",
  covers: (files: number) =>
    `${files === 1 ? "Das Vertrauen gilt genau dieser Datei" : `Das Vertrauen gilt genau diesen ${files} Dateien`}; jede Änderung fragt wieder.`,
  size: (bytes: number) => bytesText(bytes),
  notText: "Nicht angezeigt: eine Schlüsseldatei oder kein kurzer Text. Öffnen Sie die Datei, bevor Sie ihr vertrauen.",
  cannotShow: (path: string) =>
    `Diese Seite kann es nicht anzeigen. Öffnen Sie ${path}, bevor Sie dem Skill vertrauen.`,
  plugins: "Plugins",
  pluginVersion: (version: string): string => (version ? `Plugin, Version ${version}` : "Plugin"),
  pluginFrom: "Kopiert aus",
  pluginSkills: (names: string) => `Skills, denen Sie einzeln vertrauen: ${names}`,
  listedOnly: (name: string) =>
    `Agenten und MCP-Server von ${name}: nur aufgezählt, fügen Sie selbst hinzu, was Sie wollen`,
  notImported: "Nicht übernommen",
  readAndTrustHooks: "Lesen, was seine Hooks verwenden können, um ihnen zu vertrauen",
  hooksOfPlugin: (trusted: boolean): string =>
    trusted
      ? "aus einem Plugin, für jeden Arbeitsbereich"
      : "aus einem Plugin: Sie laufen erst, wenn Sie ihnen unter Plugins vertrauen",
  removePluginAbout: "Alles, was es mitbrachte, wird gelöscht: Skills, Befehle und Hooks, und Ihr Vertrauen in sie.",
  add: "Skill oder Plugin hinzufügen",
  path: "Ordner des Skills, Plugins oder Marktplatzes",
  pathHint: "auf dem Rechner des Servers; er wird in den Datenordner kopiert, für jeden Arbeitsbereich",
  pathExample: "/home/me/skills/pdf-forms",
  addButton: "Hinzufügen",
  added: (name: string) => `${name} wurde hinzugefügt. Lesen Sie ihn, dann vertrauen Sie ihm.`,
  remove: (name: string) => `${name} entfernen`,
  removeButton: "Entfernen",
  removed: (name: string) => `${name} ist entfernt.`,
  removeAbout: "Seine Kopie im Datenordner wird gelöscht.",
  noHooks: "Keine Hooks. Sie stehen in",
  hooksFile: ".anycowork/hooks.json",
  noHooksElse:
    "eines Arbeitsbereichs, sobald Sie der Datei vertrauen, oder in hooks.json des Datenordners: Diese gelten überall.",
  ofDataFolder: "im Datenordner, für jeden Arbeitsbereich",
  hooksOf: (path: string) => `Hooks aus ${path}`,
  everyTool: "jedem Werkzeug",
  events: {
    PreToolUse: (tools: string) => `Vor einem Aufruf von ${tools}`,
    PostToolUse: (tools: string) => `Nach einem Aufruf von ${tools}`,
    SessionStart: () => "Vor der ersten Nachricht eines Chats",
    UserPromptSubmit: () => "Vor der Annahme einer Nachricht",
    Stop: () => "Vor dem Ende eines Zugs",
    SubagentStop: () => "Vor dem Ende einer Aufgabe eines Auftrags",
    PreCompact: () => "Vor dem Zusammenfassen eines Chats",
  },
  notRunYet: "Seit dem Start des Servers nicht gelaufen.",
  outcome: (decision: string, reason: string, failed: boolean) =>
    `Zuletzt: ${failed ? "fehlgeschlagen" : (OUTCOMES[decision] ?? decision)}${reason ? `: ${reason}` : ""}`,
};
