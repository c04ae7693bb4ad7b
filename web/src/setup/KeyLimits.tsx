// How much a client key may use: what is left empty is not limited.
import { Field, INPUT } from "../ui/Field";
import { Fold } from "../ui/Fold";

export interface KeyLimits {
  requests_per_minute?: number | null;
  tokens_per_day?: number | null;
  spend_per_day?: number | null;
}

const LIMITS = [
  { limit: "requests_per_minute", label: "Requests a minute", whole: true, most: 100_000 },
  { limit: "tokens_per_day", label: "Tokens a day", whole: true, most: 1e12 },
  { limit: "spend_per_day", label: "US dollars a day", whole: false, most: 1_000_000 },
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
    requests_per_minute ? `${requests_per_minute.toLocaleString()} a minute` : "",
    tokens_per_day ? `${tokens_per_day.toLocaleString()} tokens a day` : "",
    spend_per_day ? `$${spend_per_day.toLocaleString(undefined, { minimumFractionDigits: 2 })} a day` : "",
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
    <Fold summary="Limits">
      {() => (
        <div className="space-y-2 py-1">
          <div className="grid gap-3 sm:grid-cols-3">
            {LIMITS.map(({ limit, label }) => (
              <Field key={limit} label={label}>
                <input
                  inputMode="decimal"
                  placeholder="no limit"
                  value={typed[limit] ?? ""}
                  onChange={({ target }) => onType(limit, target.value)}
                  className={INPUT}
                />
              </Field>
            ))}
          </div>
          <p role="status" className="text-xs text-ink-3">
            {fits
              ? "A program over its limit is refused until the limit lifts."
              : "Limits are numbers above zero; requests and tokens are whole ones."}
          </p>
        </div>
      )}
    </Fold>
  );
}
