// German texts of the roles and workflows that people write.
import type { Texts } from "../definitions";

export const definitions: Texts = {
  newRole: "Neue Rolle",
  newWorkflow: "Neuer Workflow",
  view: (name: string) => `${name} ansehen`,
  edit: (name: string) => `${name} bearbeiten`,
  duplicate: (name: string) => `${name} duplizieren`,
  remove: (name: string) => `${name} löschen`,
  sources: {
    built_in: "eingebaut",
    data: "eigener",
    workspace: "aus dem Arbeitsbereich",
    mcp: "von einem MCP-Server",
  },
  back: "Zurück",
  save: "Speichern",
  saving: "Wird gespeichert…",
  cancel: "Abbrechen",
  name: "Name",
  nameHint: "Kleinbuchstaben, Ziffern und _",
  roleNameHint: "Kleinbuchstaben, Ziffern, _ und -",
  description: "Beschreibung",
  descriptionHint: "wird bei der Auswahl der Rolle gezeigt",
  permissions: "Rechte",
  permissionsAtOnce: "Eine Änderung gilt sofort in jedem Chat mit dieser Rolle und wird in jedem davon festgehalten.",
  output: "Antwortet mit",
  outputs: { text: "Text", plan: "Einem Plan", review: "Einer Prüfung" },
  delegates: "Darf Aufgaben geben an",
  delegatesAbout: "Die Ausführenden eines Auftrags haben auch die Rechte dieser Rollen.",
  colour: "Farbe",
  colours: {
    grey: "Grau",
    blue: "Blau",
    green: "Grün",
    purple: "Violett",
    pink: "Rosa",
    amber: "Bernstein",
    teal: "Petrol",
    red: "Rot",
  },
  instructions: "Anweisungen",
  instructionsHint: "was einem Agenten in dieser Rolle gesagt wird",
  fault: (field: string, reason: string) => `${field}: ${reason}.`,
  saved: (name: string) => `${name} gespeichert.`,
  deleted: (name: string) => `${name} gelöscht.`,
  deleteTitle: (name: string) => `${name} löschen?`,
  deleteRoleAbout: "Chats mit dieser Rolle haben keine Rechte, bis Sie eine andere Rolle für sie wählen.",
  deleteWorkflowAbout: "Die Datei wird entfernt. Begonnene Läufe behalten ihre Schritte.",
  deleteNow: "Löschen",
  keepIt: "Behalten",
  duplicateIt: "Duplizieren",
  noneOfThem: "keine",
  definition: "Definition",
  definitionHint: "Einstellungen zwischen zwei Zeilen mit +++, dann ein ## Titel für jeden Schritt",
  goToLine: (line: number) => `Zu Zeile ${line}`,
  problem: (reason: string) => `Kann nicht gespeichert werden: ${reason}.`,
  fine: (steps: number, needs: string) =>
    `Gültig: ${steps === 1 ? "1 Schritt" : `${steps} Schritte`}. Braucht: ${needs || "nichts"}.`,
  checking: "Wird geprüft…",
  copyOf: (name: string) => `${name}_kopie`,
  leftOut: (path: string, reason: string) => `${path} wird nicht verwendet: ${reason}.`,
  starter: `+++
description = "Was dieser Workflow tut, in einem Satz."
category = "own"
needs = ["read_files"]

[[parameters]]
name = "path"
type = "path"
description = "die Datei oder der Ordner, um den es geht"
+++

## {{path}} ansehen

Lies {{path}} und erkläre in einfachen Worten, wozu es da ist.
`,
};
