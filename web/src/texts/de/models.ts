// German texts of models.
import type { Texts } from "../models";

export const models: Texts = {
  model: (current: string | number) => `Modell: ${current}`,
  defaultOf: (server: string) => `${server} (Standardmodell)`,
  chooseAModel: "Modell wählen",
  searchModels: "Modelle suchen",
  models: "Modelle",
  chosen: "ausgewählt",
  noModelHasTheseWords: "Kein Modell gefunden. ",
  askingTheServersForTheir: "Listen der Modelle werden geladen… ",
  didNotListItsModels: (failed: string | number) => `${failed} hat seine Modelle nicht aufgelistet. `,
  context: (tokens: string) => `${tokens} Token`,
  price: (input: string, output: string) => `${input} $ rein, ${output} $ raus je Million`,
  priceUnknown: "Preis unbekannt",
  contextUnknown: "Kontext unbekannt",
  connectAModel: "Modell verbinden",
};
