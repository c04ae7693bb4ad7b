// German texts of chats.
import type { Texts } from "../chats";

export const chats: Texts = {
  inMessages: "In Nachrichten",
  you: "Sie",
  agent: "Agent",
  moreResults: "Weitere Ergebnisse anzeigen",
  pinned: "Angeheftet",
  today: "Heute",
  yesterday: "Gestern",
  lastWeek: "Letzte 7 Tage",
  older: "Älter",
  archived: "Archiviert",
  showArchived: "Archivierte Chats",
  backToChats: "Zurück zu allen Chats",
  noArchivedChats: "Keine archivierten Chats.",
  groupByDate: "Nach Datum gruppieren",
  groupByWorkspace: "Nach Arbeitsbereich gruppieren",
  groupChats: "Chats gruppieren",
  nothingFound: "Kein Titel und keine Nachricht enthält diese Wörter.",
  pin: "Anheften",
  unpin: "Lösen",
  archive: "Archivieren",
  unarchive: "Aus dem Archiv holen",
  exportMarkdown: "Als Markdown exportieren",
  exportJson: "Als JSON exportieren",
  exportHtml: "Als HTML-Bericht exportieren",
};
