// What "Allow in this chat" and "Always allow" save: the call's rule, one for each host that it may reach, and where the agent has read
// what nobody vouched for, an endorsement in their place, for each origin and each place that the call goes to.
import { ruleWords } from "../rules/words";
import type { Approval } from "../wire/nouns";
import { loose, text } from "../wire/nouns";

type Rule = Readonly<Record<string, unknown>>;

const NETWORK = "network";

/** In words, each once. `own` is a rule that the person changed: it is saved without those of its hosts. */
export function savedRules(approval: Approval, rule: Rule, kind: string, own: boolean): string[] {
  const alone = own || text(rule["tool"]) === NETWORK;
  const hosts = alone ? [] : approval.network.map((resource) => ({ tool: NETWORK, resource, effect: "allow" }));
  const rules: readonly Rule[] = [rule, ...hosts];
  const words = (one: Rule) => ruleWords(one, text(one["tool"]) === NETWORK ? undefined : kind);
  const { endorsement } = approval;
  if (!endorsement) return rules.map(words);
  const bases = endorsement.sinks.map(
    (sink) =>
      rules.find((one) => text(one["tool"]) === NETWORK && text(one["resource"]) === text(loose(sink)["subject"])) ??
      rule,
  );
  const endorsing = bases.flatMap((base) => endorsement.origins.map((origin) => words({ ...base, origin })));
  return [...new Set([...rules.filter((one) => !bases.includes(one)).map(words), ...endorsing])];
}
