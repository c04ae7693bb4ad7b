// What the chat has used: tokens, their cost where the price is known, and how full the model's context is.

import { Popover } from "radix-ui";
import { t } from "../texts/chat";
import { number } from "../texts/language";
import type { components } from "../wire/api.gen";
import { costOf, fillOf, money, short, tokensOf, usageWords } from "./usage";

export type ChatUsage = components["schemas"]["ChatUsageResponse"];

export function Meter({ usage }: { usage: ChatUsage }) {
  const tokens = tokensOf(usage);
  if (tokens === 0) return null;
  const cost = costOf(usage);
  const fill = fillOf(usage);
  const words = usageWords(usage);
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <button
          type="button"
          aria-label={t.usedInThisChat2(words)}
          title={t.usedInThisChat2(words)}
          className="inline-flex min-h-9 items-center gap-1.5 rounded-lg px-2 text-xs text-ink-2 tabular-nums hover:bg-sunken"
        >
          <Ring fill={fill} />
          <span className="hidden lg:inline">{cost !== null && cost > 0 ? money(cost) : short(tokens)}</span>
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          aria-label={t.whatThisChatHasUsed}
          className="rise z-40 w-72 max-w-[calc(100vw-1rem)] rounded-xl border border-line bg-surface p-4 text-sm text-ink shadow-xl"
        >
          <Details usage={usage} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

export function Details({ usage }: { usage: ChatUsage }) {
  const fill = fillOf(usage);
  const cost = costOf(usage);
  return (
    <>
      {fill !== null && (
        <div className="mb-3">
          <p className="mb-1 flex justify-between text-ink-2">
            <span>{t.contextOfTheLastRequest}</span>
            <span className="tabular-nums">{Math.round(fill * 100)} %</span>
          </p>
          <meter
            aria-label={t.contextOfTheLastRequest}
            className="context-fill w-full"
            min={0}
            max={100}
            high={85}
            value={Math.round(fill * 100)}
          />
          <p className="text-xs text-ink-3 tabular-nums">
            {t.ofTokens(number(usage.window), number(usage.context_tokens ?? 0))}
            {!usage.context_known && ` ${t.contextAssumed}`}
          </p>
        </div>
      )}
      <ul className="space-y-2">
        {usage.models.map((used) => (
          <li key={used.model}>
            <p className="truncate font-medium" title={used.model}>
              {used.model}
            </p>
            <p className="text-xs text-ink-3 tabular-nums">
              {t.requests(used.requests)} · {t.tokensIn(used.prompt, used.cached)} · {t.tokensOut(used.completion)}
              {used.reserved > 0 && ` · ${t.tokensUnreported(used.reserved)}`}
              {used.estimated && ` · ${t.estimated}`}
            </p>
          </li>
        ))}
      </ul>
      <p className="mt-3 border-t border-line pt-2 text-ink-2">
        {cost === null ? t.thePriceOfAModel : t.costSoFar(money(cost))}
      </p>
    </>
  );
}

function Ring({ fill }: { fill: number | null }) {
  const part = Math.min(1, fill ?? 0);
  return (
    <svg
      viewBox="0 0 20 20"
      aria-hidden
      className={`size-[18px] shrink-0 -rotate-90 ${part > 0.85 ? "text-warn" : "text-ink-3"}`}
    >
      <circle cx="10" cy="10" r="7.5" fill="none" stroke="var(--line-strong)" strokeWidth="3" />
      <circle
        cx="10"
        cy="10"
        r="7.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="3"
        pathLength="100"
        strokeDasharray={`${part * 100} 100`}
      />
    </svg>
  );
}
