// German texts of models.
import type { Texts } from "../models";

export const models: Texts = {
  model: (current: string | number) => `Modell: ${current}`,
  chooseAModel: "Modell wählen",
  searchModels: "Modelle suchen",
  models: "Modelle",
  chosen: "ausgewählt",
  noModelHasTheseWords: "Kein Modell gefunden. ",
  askingTheServersForTheir: "Listen der Modelle werden geladen… ",
  didNotListItsModels: (failed: string | number) => `${failed} hat seine Modelle nicht aufgelistet. `,
  connectAModel: "Modell verbinden",
};
