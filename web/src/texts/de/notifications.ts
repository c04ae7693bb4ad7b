// German texts of the settings about where a person is told that something waits.
import type { Texts } from "../notifications";

export const notifications: Texts = {
  page: "Mitteilungen",
  title: "Mitteilungen",
  about:
    "Wenn etwas auf eine Entscheidung wartet, nennt eine Mitteilung die Art und führt zur Seite, nie den Inhalt. Entschieden wird auf der Seite.",
  forDeciders: "Auf Personen, die nur lesen dürfen, wartet nichts.",
  thisBrowser: "Dieser Browser",
  thisBrowserAbout:
    "Mitteilungen kommen auch, während die Seite geschlossen ist. Auf einem Telefon installieren Sie die Seite zuerst, wo es das verlangt.",
  turnOn: "Hier einschalten",
  turnOff: "Hier ausschalten",
  isOn: "In diesem Browser eingeschaltet.",
  noPush:
    "Dieser Browser nimmt hier keine Mitteilungen an. Sie brauchen https oder den Rechner, auf dem der Server läuft.",
  notAllowed: "Der Browser erlaubt dieser Seite keine Mitteilungen. Erlauben Sie sie in seinen Einstellungen.",
  elsewhere: "Anderswo",
  kinds: { webhook: "Webhook", email: "E-Mail", web_push: "Browser" },
  kind: "Art",
  address: "Adresse",
  addressOf: { webhook: "https://example.org/hook", email: "ada@example.org" },
  add: "Ziel hinzufügen",
  secret: "Das Geheimnis des Webhooks. Es signiert jede Nachricht und wird nur dieses eine Mal gezeigt.",
  theSecret: "Das Geheimnis des Webhooks",
  copySecret: "Geheimnis kopieren",
  done: "Fertig",
  none: "Noch keine Ziele. Was wartet, sehen Sie nur auf der Seite.",
  test: "Test senden",
  testOf: (name) => `Einen Test an ${name} senden`,
  tested: "Der Test wurde zugestellt.",
  notTested: (reason) => `Der Test wurde nicht zugestellt. ${reason}`,
  remove: (name) => `${name} entfernen`,
  removed: "Das Ziel wurde entfernt.",
  last: (date) => `zuletzt ${date.toLocaleString("de")}`,
  never: "noch nichts gesendet",
  disabled: (reason) => `Nach Fehlern ausgeschaltet: ${reason}`,
  failed: (reason) => `Letzter Versuch fehlgeschlagen: ${reason}`,
};
