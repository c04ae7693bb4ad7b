// German texts of app.
import type { Texts } from "../app";

export const app: Texts = {
  role: "Rolle",
  chat: "Chat",
  file: "Datei",
  noChatWaitsForYou: "Kein Chat wartet auf Sie.",
  skipTheListOfChats: "Liste der Chats überspringen",
  closeTheListOfChats: "Liste der Chats schließen",
  thisPartOfThePage: "Dieser Teil der Seite konnte nicht angezeigt werden",
  theServerDoesNotAnswer:
    "Der Server antwortet nicht, oder er wurde aktualisiert. Nichts ist verloren: Ihre Arbeit ist dort gespeichert.",
  loadThePageAgain: "Seite neu laden",
  loading: "Wird geladen…",
  couldNotBeRead: "Diese Seite konnte nicht vom Server gelesen werden.",
  tryAgain: "Erneut versuchen",
  newChat: "Neuer Chat",
  stopTheAgent: "Agent anhalten",
  workflows: "Workflows",
  switchTo: (title: string | number) => `Zu ${title} wechseln`,
  nextChatThatWaitsFor: "Nächster Chat, der auf Sie wartet",
  settings: "Einstellungen",
  rules: "Regeln",
  plugins: "Plugins",
  darkTheme: "Dunkles Design",
  lightTheme: "Helles Design",
  showOrHideTheChats: "Chats ein- oder ausblenden",
  keyboardShortcuts: "Tastenkürzel",
};
