// German texts of usage.
import type { Texts } from "../usage";

export const usage: Texts = {
  page: "Verbrauch und Grenzen",
  title: "Verbrauch",
  about:
    "Was Chats und Jobs von ihren Modellen verbraucht haben, nach den aufgezeichneten Anfragen. Ein unbekannter Preis zählt nicht mit.",
  by: "Summiert nach",
  groups: { day: "Tag", model: "Modell", chat: "Chat", job: "Job", role: "Rolle", person: "Person", group: "Gruppe" },
  period: "Zeitraum",
  days: (count: number) => `Die letzten ${count} Tage`,
  always: "Gesamter Zeitraum",
  tokens: "Tokens",
  requests: "Anfragen",
  cost: "Kosten",
  unknown: "unbekannt",
  nothing: "In diesem Zeitraum wurde nichts verbraucht.",
  noJob: "In diesem Zeitraum hat kein Job etwas verbraucht.",
  total: "Summe",
  plot: (from: string, to: string, most: string) =>
    `Tokens nach Tagen vom ${from} bis ${to}; am meisten an einem Tag: ${most}`,
  onDay: (day: string, tokens: string) => `${day}: ${tokens} Tokens`,
  prompts: "Von Modellen gelesen",
  answers: "Von Modellen geschrieben",
  mostInADay: (tokens: string) => `Höchstens an einem Tag: ${tokens}`,
  more: (shown: number, all: number) => `Die ersten ${shown} von ${all}.`,
  gone: "gelöscht",
};
