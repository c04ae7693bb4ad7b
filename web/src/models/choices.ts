// The models that can be chosen: what each provider names, and what its server lists. Pure.
import { number } from "../texts/language";
import { t } from "../texts/models";
import type { components } from "../wire/api.gen";
import type { Provider } from "../wire/nouns";

export interface Choice {
  id: string;
  provider: string;
}

/** `listed` are the server's own lists by the provider's name. Each model once, the named ones first. */
export function choicesOf(
  providers: readonly Provider[],
  listed: Readonly<Record<string, readonly string[]>>,
): Choice[] {
  return providers.flatMap(({ name, kind, models }) => {
    if (kind === "guide") return [{ id: name, provider: name }];
    return [...new Set([...models, ...(listed[name] ?? [])])].map((model) => ({
      id: `${name}/${model}`,
      provider: name,
    }));
  });
}

/** Those that have all the words, in any order. */
export function foundBy(words: string, choices: readonly Choice[]): Choice[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return choices.filter(({ id }) => wanted.every((word) => id.toLowerCase().includes(word)));
}

/** Who answers where a chat names no model. */
export function defaultModel(providers: readonly Provider[]): string {
  const standard = providers.find((one) => one.default);
  if (!standard) return "…";
  const model = standard.default_model ?? standard.models[0];
  return standard.kind === "guide" ? standard.name : `${standard.name}/${model ?? AUTO}`;
}

/** A model as people read it: `acme/auto` is whichever model the server `acme` offers first. */
export function shownModel(model: string): string {
  return model.endsWith(`/${AUTO}`) ? t.defaultOf(model.slice(0, -AUTO.length - 1)) : model;
}

const AUTO = "auto"; // a provider that names no models is asked what it has

/** Context size and price, each said to be unknown where it is. */
export function factsText(facts: components["schemas"]["ModelFactsResponse"] | undefined): string {
  const size = facts?.context_tokens ? t.context(number(facts.context_tokens)) : t.contextUnknown;
  const price = facts?.price ? t.price(number(facts.price.input), number(facts.price.output)) : t.priceUnknown;
  return `${size} · ${price}`;
}
