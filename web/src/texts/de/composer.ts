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
};
