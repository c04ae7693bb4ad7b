// German texts of start.
import type { Texts } from "../start";

export const start: Texts = {
  thisTokenIsNotThe: "Dieses Token ist ungültig.",
  thisLinkIsUsedUp:
    "Der Link wurde schon benutzt, oder seine Zeit ist um. Auf dem Rechner des Servers macht anycowork open einen neuen.",
  anycowork: "AnyCowork",
  anycoworkOpen: "anycowork open",
  noAccountNoKeyNothing: "Kein Konto, kein Schlüssel. Nichts wird geändert, bevor Sie es gesehen und erlaubt haben.",
  theServerDoesNotAnswer: "Der Server antwortet nicht.",
  whoAnswers: "Modelle",
  signInWith: (provider: string) => `Mit ${provider} anmelden`,
  or: "oder",
  enter: "Anmelden",
  enterTheDigits:
    "Um hier Einstellungen, Schlüssel oder Personen zu ändern, geben Sie die sechs Ziffern ein, die in Ihrem Terminal neben dem Link stehen.",
  theseAreNotTheDigits: "Das sind nicht die Ziffern zum Link dieses Browsers. Nach fünf falschen wird er abgemeldet.",
  confirm: "Bestätigen",
  keyRefused: (name: string) => `${name} hat den Schlüssel abgelehnt. Prüfen Sie ihn, und fügen Sie den richtigen ein.`,
  keyNeeded: (name: string) => `${name} verlangt einen Schlüssel. Fügen Sie ihn hier ein.`,
  withAKey: "Mit einem Schlüssel",
  pasteAKey:
    "Fügen Sie einen Schlüssel von OpenAI, Anthropic, Gemini, OpenRouter oder einem anderen Server ein. Er wird nur für Sie gespeichert und nie wieder angezeigt.",
  connected: (name: string) => `${name} ist verbunden und hat geantwortet. Sie können anfangen.`,
  startOllamaLmStudioOr:
    "Starten Sie Ollama, LM Studio oder llama.cpp auf diesem Rechner. Es wird automatisch gefunden.",
  theGuideAnswersNow: "Jetzt antwortet der Guide",
  withALocalModel: "Mit einem lokalen Modell",
  ofTheDataFolderOn: "des Datenordners. Auf dem Rechner des Servers öffnet",
  opensThisPageSignedIn: "diese Seite angemeldet.",
  connectAModel: "Modell verbinden",
  pasteYourToken: "Fügen Sie Ihr Token ein. Das des Eigentümers steht in der Datei",
  goOnWithTheGuide: "Weiter mit dem Guide",
  youCanStartRightAway: "Sie können sofort anfangen",
  theBuiltInGuideNo: "Der eingebaute Guide: kein Sprachmodell, er folgt einfachen Anweisungen",
  builtInAndHonestNot: "Eingebaut. Er ist kein Sprachmodell, folgt aber einfachen Anweisungen wie denen oben.",
  token: "token",
};
