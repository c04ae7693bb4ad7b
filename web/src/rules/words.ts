// A rule in words. Pure.
import { loose, text } from "../wire/nouns";

/** What a decision keeps for later, said once it is made; null if nothing. */
export function keptWords(rules: readonly unknown[]): string | null {
  if (rules.length === 0) return null;
  const kept = rules.length === 1 ? "Kept as a rule" : `Kept as ${rules.length} rules`;
  return `${kept}: ${rules.map(ruleWords).join("; ")}.`;
}

export function ruleWords(rule: unknown): string {
  const { tool, resource, effect } = loose(rule);
  const verb = { allow: "allow", deny: "deny", ask: "ask about" }[text(effect)] ?? "decide";
  const what = text(tool) === "*" ? "every tool" : text(tool);
  const where = text(resource) === "*" ? "everything" : text(resource);
  return `${verb} ${what} on ${where}`;
}
