// German texts of composer.
import type { Texts } from "../composer";

export const composer: Texts = {
  contextFull: "Der Kontext ist voll",
  contextFullAbout:
    "Dem Modell kann nicht mehr alles gezeigt werden, was es getan hat. „Verdichten“ macht mit einem kurzen Bericht davon weiter, „Fortsetzen“ mit dem, was Platz hat. Nichts ist verloren.",
  compact: "Verdichten",
  compactAbout: "Den Chat verdichten, dann fortsetzen",
  compacted: (count: number) => `Verdichtet: Dem Modell werden ${count} frühere Nachrichten nicht mehr gezeigt`,
  compactedAbout: "Nichts wurde gelöscht. Sie sehen und durchsuchen weiterhin alles.",
  toldInstead: "Was dem Modell stattdessen gezeigt wird",
  undo: "Rückgängig",
  suggestions: (count: number) => `${count} ${count === 1 ? "Vorschlag" : "Vorschläge"}`,
  suggestionsLabel: "Vorschläge",
  commands: {
    model: "Das Modell dieses Chats wählen",
    role: "Die Rolle wechseln",
    new: "Einen neuen Chat beginnen",
    restore: "Dateien eines Checkpoints wiederherstellen",
    remember: "Eine Notiz in die AGENTS.md dieses Ordners schreiben",
    compact: "Kürzen, was dem Modell von diesem Chat gezeigt wird",
    export: "Diesen Chat als Markdown, JSON oder HTML speichern",
    help: "Zeigen, was hier getippt werden kann",
  },
  file: "Datei",
  folder: "Ordner",
  kinds: {
    "symbol:": "Eine Funktion, Klasse oder ein anderer Name im Code",
    "mcp:": "Eine Ressource eines MCP-Servers",
    "checkpoint:": "Eine Änderung in diesem Chat",
  },
  checkpointAbout: (at: string, files: number, added: number, removed: number, asked: string) =>
    [at, `${files === 1 ? "1 Datei" : `${files} Dateien`}, +${added} −${removed}`, asked].filter(Boolean).join(" · "),
  attachFiles: "Dateien anhängen",
  attachFilesAbout: "Textdateien oder Bilder anhängen (oder einfügen, oder ablegen)",
  filesToSend: "Zu sendende Dateien",
  removeFile: (name: string) => `${name} entfernen`,
  attachedFiles: "Angehängte Dateien",
  attachedFile: (name: string) => `Angehängte Datei ${name}`,
  isNoText: (name: string) =>
    `${name} ist kein reiner Text in UTF-8. Andere Dateien gehören in den Arbeitsbereich: Agenten lesen sie dort.`,
  isEmpty: (name: string) => `${name} ist leer.`,
  isLargerThan: (name: string, kilobytes: number) => `${name} ist größer als ${kilobytes} KB.`,
  aMessageTakesFiles: (count: number) => `Eine Nachricht fasst ${count} Dateien.`,
  togetherTooLarge: (kilobytes: number) =>
    `Diese Dateien sind zusammen zu groß. Eine Nachricht fasst ${kilobytes} KB Text.`,
  thisFile: "Diese Datei",
  noSuchCommandArgument: (text: string) => `„${text}“ steht nicht zur Wahl.`,
  compactedNow: "Verdichtet.",
  rememberTitle: "Merken",
  rememberAbout:
    "Agenten in diesem Ordner lesen es am Anfang jedes Zugs. Nichts wird gespeichert, bevor Sie Speichern drücken.",
  rememberNote: "Notiz",
  rememberChange: "Was sich ändert",
  rememberedAlready: (path: string) => `${path} enthält diese Notiz schon.`,
  rememberSave: "Speichern",
  rememberCancel: "Abbrechen",
  remembered: (path: string) => `In ${path} gespeichert. Checkpoints können es rückgängig machen.`,
  help: "Befehle und Erwähnungen",
  helpMentions: "Etwas mit @ nennen",
  expect: "Angeben, was am Ende geprüft wird: output, protected, check, read oder no_change",
  helpMore:
    "Abläufe starten mit / und ihrem Namen. Zwei Schrägstriche am Anfang senden eine Nachricht, die mit einem beginnt.",
  mentionForms: [
    ["@src/app.py", "Die Datei wird gelesen, bevor das Modell gefragt wird"],
    ["@src/", "Der Ordner wird aufgelistet"],
    ["@symbol:Window", "Es wird nachgesehen, wo der Name definiert ist"],
    ["@mcp:server:uri", "Die Ressource wird gelesen; vielleicht werden Sie vorher gefragt"],
    ["@checkpoint:id", "Das Modell erfährt, wann die Änderung gemacht wurde und welche Dateien sie betraf"],
  ] as readonly (readonly [string, string])[],
};
