// German texts of autonomy.
import type { Texts } from "../autonomy";

export const autonomy: Texts = {
  youAllowedSeveralFileChanges: "Sie haben in diesem Chat mehrere Dateiänderungen erlaubt.",
  youAllowedSeveralCommandsIn: "Sie haben in diesem Chat mehrere Befehle erlaubt.",
  autonomy: (title: string | number) => `Autonomie: ${title}?`,
  notNow: "Nicht jetzt",
  switchTo: (title: string | number) => `Zu ${title} wechseln`,
  autonomyChange: (title: string | number) => `Autonomie: ${title}. Ändern`,
  autonomyTakesTheNextLevel: (title: string | number, does: string | number, keys: string | number) =>
    `Autonomie: ${title}. ${does} (${keys} wählt die nächste Stufe)`,
  autonomy2: "Autonomie",
  whatPassesWithoutAsking: "Was ist ohne Nachfrage erlaubt?",
  currentLevel: "aktuelle Stufe",
  ask: "Fragen",
  everyChangeAndEveryCommand: "Jede Änderung und jeder Befehl fragt zuerst.",
  edits: "Bearbeiten",
  fileChangesPassDeletingCommands:
    "Dateiänderungen sind erlaubt. Löschen, Befehle, Steuerdateien und Geheimnisse fragen zuerst.",
  sandboxed: "Sandbox",
  commandsPassTooInThe:
    "Auch Befehle sind erlaubt, in der Sandbox und ohne Netzwerk. Vor dem Löschen Ihrer Dateien wird gefragt.",
  notOfferedThisMachinesSandbox:
    "Nicht verfügbar: Die Sandbox dieses Rechners ist unvollständig, Befehle wären nicht eingeschränkt.",
};
