// German texts of the limits of people and groups.
import type { Texts } from "../limits";

export const limits: Texts = {
  title: "Grenzen pro Tag",
  about:
    "Was jede Person, eine Person oder eine Gruppe an einem Tag (UTC) verbrauchen darf, in Chats, Jobs und Schlüsseln.",
  today: "Heute verbraucht",
  group: (name: string) => `Gruppe ${name}`,
  used: (used: string, limit: string | null) => (limit === null ? used : `${used} von ${limit}`),
  tokens: (count: string) => `${count} Tokens`,
  jobs: (count: string) => `${count} Jobs`,
  own: "Ihre Grenzen",
  ownAbout:
    "Was Sie und Ihre Gruppen an einem Tag verbrauchen dürfen, in Chats, Jobs und Schlüsseln, und was heute verbraucht wurde.",
  you: "Sie",
  groupTogether: (name: string) => `Gruppe ${name}, alle Mitglieder zusammen`,
  dollars: "US-Dollar heute",
  tokensLabel: "Tokens heute",
  usedWithoutLimit: (used: string) => `${used}, keine Grenze`,
  unpriced: (count: number) =>
    `${count === 1 ? "1 Anfrage zählt" : `${count} Anfragen zählen`} nur in Tokens: der Preis ist unbekannt.`,
  dayEnds: (time: string) => `Der Tag endet um 00:00 UTC: hier ${time}. Ein Admin kann eine Grenze anheben.`,
  who: "Wer",
  each: "Jede Person ohne eigene Grenzen",
  eachGroup: "Jede Gruppe ohne eigene Grenzen",
  newGroup: "Eine Gruppe mit Namen",
  groupName: "Name der Gruppe",
  dollarsADay: "US-Dollar pro Tag",
  tokensADay: "Tokens pro Tag",
  jobsAtOnce: "Jobs gleichzeitig",
  noLimit: "keine Grenze",
  save: "Grenzen speichern",
  saved: "Die Grenzen gelten ab der nächsten Anfrage.",
};
