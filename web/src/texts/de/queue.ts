// German texts of queue.
import type { Texts } from "../queue";

export const queue: Texts = {
  queuedMessages: "Wartende Nachrichten",
  sentWhenTheAgentHasFinished: "Wird gesendet, wenn der Agent fertig ist",
  held: "Zurückgehalten: Der letzte Zug wurde nicht fertig",
  steers: "Geht nach diesem Schritt an den Agenten",
  edit: "Bearbeiten",
  remove: "Entfernen",
  sendNow: "Jetzt senden",
  save: "Speichern",
  cancel: "Abbrechen",
  queuedMessage: "Wartende Nachricht",
  queue: "Einreihen",
  queueEnter: "Einreihen: wird gesendet, wenn der Agent fertig ist (Enter)",
  steer: "Lenken: geht nach diesem Schritt an den Agenten (Strg+Enter)",
  theAgentIsWorking: "Der Agent arbeitet. Enter reiht Ihre Nachricht ein, Strg+Enter gibt sie ihm nach diesem Schritt.",
};
