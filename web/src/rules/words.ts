// A rule in words. Pure.
import { loose, text } from "../wire/nouns";

export function ruleWords(rule: unknown): string {
  const { tool, resource, effect } = loose(rule);
  const verb = { allow: "allow", deny: "deny", ask: "ask about" }[text(effect)] ?? "decide";
  const what = text(tool) === "*" ? "every tool" : text(tool);
  const where = text(resource) === "*" ? "everything" : text(resource);
  return `${verb} ${what} on ${where}`;
}
