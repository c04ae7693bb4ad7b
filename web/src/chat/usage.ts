// A chat's usage as the server sums it up, and in short words. A cost that is not known stays unknown.

import { useQuery } from "@tanstack/react-query";
import { t } from "../texts/chat";
import { decimal, dollars } from "../texts/language";
import { api, given } from "../wire/client";
import type { ChatUsage } from "./Meter";

/** Read once the chat is (`spent` is null before), and again with each request to a model and for another model. */
export function useUsage(chatId: string, spent: number | null, model: string | null) {
  return useQuery({
    queryKey: ["usage", chatId, spent, model],
    queryFn: () => given(api.GET("/context/{chat_id}/usage", { params: { path: { chat_id: chatId } } })),
    enabled: spent !== null,
    placeholderData: (before, query) => (query?.queryKey[1] === chatId ? before : undefined),
    gcTime: 10_000,
  });
}

export function tokensOf(usage: ChatUsage): number {
  return usage.models.reduce((sum, used) => sum + used.prompt + used.completion + used.reserved, 0);
}

/** null as soon as one model's price is not known: half a sum would mislead. */
export function costOf(usage: ChatUsage): number | null {
  return usage.models.reduce<number | null>((sum, { cost }) => (sum === null || cost === null ? null : sum + cost), 0);
}

/** Tokens, and their cost where it is known; empty where nothing was used. */
export function usageWords(usage: ChatUsage): string {
  const tokens = tokensOf(usage);
  const cost = costOf(usage);
  if (tokens === 0) return "";
  return [t.tokens(short(tokens)), cost === null ? "" : money(cost)].filter(Boolean).join(", ");
}

export function fillOf(usage: ChatUsage): number | null {
  return usage.context_tokens ? usage.window / usage.context_tokens : null;
}

export function short(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return t.k(decimal(count / 1000, count < 10_000 ? 1 : 0));
  return `${decimal(count / 1_000_000, 1)}M`;
}

export function money(cost: number): string {
  return cost > 0 && cost < 0.01 ? `< ${dollars(0.01)}` : dollars(cost);
}
