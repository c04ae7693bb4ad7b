// What the person who is signed in, and their groups, may use on a day, and what they used today.
import { useQuery } from "@tanstack/react-query";
import { dollars, number, timeOfDay } from "../texts/language";
import { t } from "../texts/limits";
import { api, given } from "../wire/client";
import { LIMITS, type Limited } from "./DayLimits";

export function OwnLimits() {
  const { data } = useQuery({ queryKey: LIMITS, queryFn: () => given(api.GET("/limits")), staleTime: 0 });
  return data ? <OwnLimitsReport today={data.today} endsAt={data.ends_at} /> : null;
}

export function OwnLimitsReport({ today, endsAt }: { today: readonly Limited[]; endsAt: string }) {
  return (
    <div className="space-y-4">
      {today.map((subject) => (
        <Subject key={`${subject.kind} ${subject.id}`} subject={subject} />
      ))}
      <p className="text-sm text-ink-2">{t.dayEnds(timeOfDay(new Date(endsAt)))}</p>
    </div>
  );
}

function Subject({ subject: { kind, name, limits, used } }: { subject: Limited }) {
  const title = kind === "group" ? t.groupTogether(name) : t.you;
  const rows = [
    { label: t.dollars, used: used.usd, limit: limits.usd_per_day, write: (value: number) => dollars(value, 4) },
    { label: t.tokensLabel, used: used.tokens, limit: limits.tokens_per_day, write: (value: number) => number(value) },
    { label: t.jobsAtOnce, used: used.jobs, limit: limits.jobs, write: (value: number) => number(value) },
  ];
  return (
    <section aria-label={title} className="rounded-2xl border border-line bg-surface px-4 py-3">
      <h3 className="text-sm font-medium">{title}</h3>
      <dl className="mt-2 space-y-2 text-sm">
        {rows.map(({ label, used: amount, limit, write }) => (
          <div key={label} className="flex flex-wrap justify-between gap-x-4">
            <dt className="text-ink-2">{label}</dt>
            <dd className="tabular-nums">
              {limit === null ? t.usedWithoutLimit(write(amount)) : t.used(write(amount), write(limit))}
            </dd>
            {limit !== null && <Share of={limit === 0 ? 1 : amount / limit} />}
          </div>
        ))}
      </dl>
      {used.unpriced_requests > 0 && <p className="mt-2 text-xs text-ink-2">{t.unpriced(used.unpriced_requests)}</p>}
    </section>
  );
}

/** The numbers above it say the same. */
function Share({ of }: { of: number }) {
  return (
    <dd aria-hidden className="mt-1 h-1.5 w-full overflow-hidden rounded-full bg-sunken">
      <div
        className={`h-full rounded-full ${of >= 1 ? "bg-bad" : "bg-ink-3"}`}
        style={{ width: `${Math.min(1, of) * 100}%` }}
      />
    </dd>
  );
}
