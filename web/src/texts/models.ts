// Texts of models.
import { translated } from "./language";

export const en = {
  model: (current: string | number) => `Model: ${current}`,
  chooseAModel: "Choose a model",
  searchModels: "Search models",
  models: "Models",
  chosen: "chosen",
  noModelHasTheseWords: "No model has these words in its name. ",
  askingTheServersForTheir: "Asking the servers for their lists… ",
  didNotListItsModels: (failed: string | number) => `${failed} did not list its models. `,
  connectAModel: "Connect a model",
};

export type Texts = typeof en;
export const t = translated("models", en);
