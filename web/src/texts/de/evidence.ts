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
  state: { met: "Erfüllt", unmet: "Nicht erfüllt", unknown: "Nicht bekannt" },
  kind: {
    output: "Anlegen:",
    protected: "Unverändert lassen:",
    check: "Bestehen:",
    no_change: "Nichts ändern in",
    read: "Lesen:",
    parses: "Gültig lassen:",
  },
  exitCode: (code: number | null) => (code === null ? "nicht beendet" : `Exit-Code ${code}`),
  passedBefore: "Sie war auch vor der Arbeit bestanden.",
  changedByTurn: (paths: string) => `Dieser Zug hat geändert, was sie ausführt: ${paths}.`,
  notRun: "Nicht ausgeführt, weil nichts sie ohne Rückfrage erlaubt",
  alwaysAllow: "Hier immer erlauben",
  allowed: "In diesem Ordner erlaubt. Sie läuft, wenn der nächste Zug endet.",
  repeat: "Wer die Dateien hat, kann diese Prüfung wiederholen:",
};
