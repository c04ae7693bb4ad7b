// A rule in words. Pure.
import { t } from "../texts/rules";
import { loose, text } from "../wire/nouns";

/** What a decision keeps for later, said once it is made; null if nothing. */
export function keptWords(rules: readonly unknown[]): string | null {
  if (rules.length === 0) return null;
  const kept = rules.length === 1 ? t.keptAsARule : t.keptAsRules(rules.length);
  return `${kept}: ${rules.map(ruleWords).join("; ")}.`;
}

export function ruleWords(rule: unknown): string {
  const { tool, resource, effect } = loose(rule);
  const verb = { ...t.effects, ask: t.askAbout }[text(effect)] ?? t.decide;
  const what = text(tool) === "*" ? t.everyTool : text(tool);
  const where = text(resource) === "*" ? t.everything : text(resource);
  return t.on(verb, what, where);
}
