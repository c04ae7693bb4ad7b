// A plan's budget in words.
import { dollars, number } from "../texts/language";
import { t } from "../texts/messages";
import type { Budget } from "../wire/nouns";

/** What it limits, one line each: an empty list limits nothing. */
export function limited({ calls, seconds, tokens, cost }: Budget): string[] {
  return [
    calls && t.callsLimited(calls),
    seconds && t.atWork(inMinutes(seconds)),
    tokens && t.tokens2(number(tokens)),
    cost && dollars(cost, 4),
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
    of(budget?.tokens, (limit) => t.ofTokens(number(spent.tokens), number(limit))),
    of(budget?.cost, (limit) => t.costUsed(spent.cost, limit)),
  ]
    .filter(Boolean)
    .join(" · ");
}

function inMinutes(seconds: number): string {
  if (seconds < 120) return t.s(number(seconds));
  return t.min(number(Math.round(seconds / 6) / 10));
}
