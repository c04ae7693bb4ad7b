// A plan's budget in words.
import type { Budget } from "../wire/nouns";

/** What it limits, one line each: an empty list limits nothing. */
export function limited({ calls, seconds, tokens, cost }: Budget): string[] {
  return [
    calls && `${calls} ${calls === 1 ? "change or command" : "changes and commands"}`,
    seconds && `${inMinutes(seconds)} at work`,
    tokens && `${tokens.toLocaleString("en")} tokens`,
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
    of(budget?.calls, (limit) => `${spent.calls} of ${limit} changes and commands`),
    of(budget?.seconds, (limit) => `${inMinutes(Math.round(spent.seconds))} of ${inMinutes(limit)}`),
    of(budget?.tokens, (limit) => `${spent.tokens.toLocaleString("en")} of ${limit.toLocaleString("en")} tokens`),
    of(
      budget?.cost,
      (limit) => `${spent.cost === null ? "an unknown part" : `$${spent.cost.toFixed(2)}`} of $${limit}`,
    ),
  ]
    .filter(Boolean)
    .join(" · ");
}

function inMinutes(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return `${Number((seconds / 60).toFixed(1))} min`;
}
