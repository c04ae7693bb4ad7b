// German texts of evidence.
import type { Texts } from "../evidence";

export const evidence: Texts = {
  evidence: "Belege",
  expected: "Was erwartet war",
  checks: "Prüfungen",
  word: { checked: "Geprüft", self_checked: "Selbst geprüft", claimed: "Behauptet", failed: "Fehlgeschlagen" },
  meaning: {
    checked: "Eine Prüfung, die es vor diesem Zug schon gab, ist nach der letzten Änderung bestanden.",
    self_checked:
      "Eine Prüfung ist bestanden, aber dieser Zug hat sie geschrieben oder geändert, oder er könnte sie ohne die Arbeit bestehen lassen.",
    claimed: "Nur der Agent sagt, dass es fertig ist. Keine Prüfung belegt es.",
    failed: "Etwas Verlangtes fehlt, oder eine Prüfung ist fehlgeschlagen.",
  },
  state: { met: "Ja", unmet: "Nein", unknown: "Nicht bekannt" },
  kind: {
    output: "erstellt",
    protected: "lässt unverändert:",
    check: "besteht",
    no_change: "ändert nichts in",
    read: "liest",
    parses: "ist gültig:",
  },
  exitCode: (code: number | null) => (code === null ? "nicht beendet" : `Exit-Code ${code}`),
  passedBefore: "Sie war auch vor der Arbeit bestanden.",
  changedByTurn: (paths: string) => `Sehen Sie sich an, was dieser Zug geändert hat: ${paths}.`,
  notRun: "Nicht ausgeführt, weil nichts sie ohne Rückfrage erlaubt",
  alwaysAllow: "Hier immer erlauben",
  allowed: "In diesem Ordner erlaubt. Sie läuft, wenn der nächste Zug endet.",
  repeat: "Wer die Dateien hat, kann diese Prüfung wiederholen:",
};
