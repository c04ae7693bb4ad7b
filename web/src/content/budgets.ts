// A plan's budget in words.
import { t } from "../texts/messages";
import type { Budget } from "../wire/nouns";

/** What it limits, one line each: an empty list limits nothing. */
export function limited({ calls, seconds, tokens, cost }: Budget): string[] {
  return [
    calls && t.callsLimited(calls),
    seconds && t.atWork(inMinutes(seconds)),
    tokens && t.tokens2(tokens.toLocaleString("en")),
    cost && `$${cost}`,
  ].filter((words): words is string => Boolean(words));
}

/** What was used of what it limits, in one line; empty where it limits nothing. */
export function used(
  budget: Partial<Budget> | null,
  spent: { calls: number; seconds: number; tokens: number; cost: number | null },
): string {
  const of = (limit: number | null | undefined, words: (limit: number) => string) => (limit ? words(limit) : null);
  return [
    of(budget?.calls, (limit) => t.ofChangesAndCommands(spent.calls, limit)),
    of(budget?.seconds, (limit) => t.of(inMinutes(Math.round(spent.seconds)), inMinutes(limit))),
    of(budget?.tokens, (limit) => t.ofTokens(spent.tokens.toLocaleString("en"), limit.toLocaleString("en"))),
    of(budget?.cost, (limit) => t.costUsed(spent.cost, limit)),
  ]
    .filter(Boolean)
    .join(" · ");
}

function inMinutes(seconds: number): string {
  if (seconds < 120) return t.s(seconds);
  return t.min(Number((seconds / 60).toFixed(1)));
}
