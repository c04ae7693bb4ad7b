// How much a client key may use: what is left empty is not limited.
import { dollars, number } from "../texts/language";
import { t } from "../texts/settings";
import { Field, INPUT } from "../ui/Field";
import { Fold } from "../ui/Fold";

export interface KeyLimits {
  requests_per_minute?: number | null;
  tokens_per_day?: number | null;
  spend_per_day?: number | null;
}

const LIMITS = [
  { limit: "requests_per_minute", label: t.requestsAMinute, whole: true, most: 100_000 },
  { limit: "tokens_per_day", label: t.tokensADay, whole: true, most: 1e12 },
  { limit: "spend_per_day", label: t.usDollarsADay, whole: false, most: 1_000_000 },
] as const;

/** Null if one of them cannot be meant. Pure. */
export function readLimits(typed: Readonly<Record<string, string>>): KeyLimits | null {
  const limits: KeyLimits = {};
  for (const { limit, whole, most } of LIMITS) {
    const words = (typed[limit] ?? "").trim();
    if (!words) continue;
    const number = Number(words);
    if (!(number > 0 && number <= most) || (whole && !Number.isInteger(number))) return null;
    limits[limit] = number;
  }
  return limits;
}

export function limitWords({ requests_per_minute, tokens_per_day, spend_per_day }: KeyLimits): string[] {
  return [
    requests_per_minute ? t.aMinute(number(requests_per_minute)) : "",
    tokens_per_day ? t.tokensADay2(number(tokens_per_day)) : "",
    spend_per_day ? t.aDay(dollars(spend_per_day, 4)) : "",
  ].filter(Boolean);
}

export function KeyLimitFields({
  typed,
  fits,
  onType,
}: {
  typed: Readonly<Record<string, string>>;
  fits: boolean;
  onType: (limit: string, words: string) => void;
}) {
  return (
    <Fold summary={t.limits}>
      {() => (
        <div className="space-y-2 py-1">
          <div className="grid gap-3 sm:grid-cols-3">
            {LIMITS.map(({ limit, label }) => (
              <Field key={limit} label={label}>
                <input
                  inputMode="decimal"
                  placeholder={t.noLimit}
                  value={typed[limit] ?? ""}
                  onChange={({ target }) => onType(limit, target.value)}
                  className={INPUT}
                />
              </Field>
            ))}
          </div>
          <p role="status" className="text-xs text-ink-3">
            {fits ? t.aProgramOverItsLimit : t.limitsAreNumbersAboveZero}
          </p>
        </div>
      )}
    </Fold>
  );
}
