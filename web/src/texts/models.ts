// Texts of models.
import { translated } from "./language";

export const en = {
  model: (current: string | number) => `Model: ${current}`,
  defaultOf: (server: string) => `${server} (default model)`,
  chooseAModel: "Choose a model",
  searchModels: "Search models",
  models: "Models",
  chosen: "chosen",
  noModelHasTheseWords: "No model found. ",
  askingTheServersForTheir: "Loading the lists of models… ",
  didNotListItsModels: (failed: string | number) => `${failed} did not list its models. `,
  connectAModel: "Connect a model",
  context: (tokens: string) => `${tokens} tokens`,
  price: (input: string, output: string) => `$${input} in, $${output} out per million`,
  priceUnknown: "price unknown",
  contextUnknown: "context unknown",
};

export type Texts = typeof en;
export const t = translated("models", en);
