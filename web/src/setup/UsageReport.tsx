// What models were used for and cost: a plot by day, and sums by day, model, chat, job or role.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { day as dayWords, dollars, number } from "../texts/language";
import { t } from "../texts/usage";
import { Field, INPUT } from "../ui/Field";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { serverNow } from "../wire/serverClock";
import { type Bar, barsOf, daysBefore } from "./usageDays";

type Row = components["schemas"]["UsageRowResponse"];
const GROUPS = ["day", "model", "chat", "job", "role", "person", "group"] as const;
type Group = (typeof GROUPS)[number];
const PERIODS = [7, 30, 90, null] as const;
const MOST_ROWS = 25;

export function UsageReport() {
  const [by, setBy] = useState<Group>("model");
  const [days, setDays] = useState<number | null>(30);
  const today = daysBefore(serverNow(), 0);
  const since = days === null ? null : daysBefore(serverNow(), days - 1);
  const perDay = useReport("day", since, 366);
  const sums = useReport(by, since, MOST_ROWS);
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap gap-3">
        <Field label={t.by}>
          <select
            value={by}
            onChange={({ target }) => setBy(GROUPS.find((group) => group === target.value) ?? "model")}
            className={INPUT}
          >
            {GROUPS.map((group) => (
              <option key={group} value={group}>
                {t.groups[group]}
              </option>
            ))}
          </select>
        </Field>
        <Field label={t.period}>
          <select
            value={String(days)}
            onChange={({ target }) => setDays(target.value === "null" ? null : Number(target.value))}
            className={INPUT}
          >
            {PERIODS.map((count) => (
              <option key={String(count)} value={String(count)}>
                {count === null ? t.always : t.days(count)}
              </option>
            ))}
          </select>
        </Field>
      </div>
      {perDay && perDay.rows.length > 0 && <Plot bars={barsOf(perDay.rows, since, today)} />}
      {sums && <Sums by={by} rows={sums.rows} groups={sums.groups} total={sums.total} />}
    </div>
  );
}

function useReport(by: Group, since: string | null, limit: number) {
  const query = { by, limit, ...(since === null ? {} : { since }) };
  return useQuery({
    queryKey: ["usage report", by, since, limit],
    queryFn: () => given(api.GET("/usage", { params: { query } })),
    staleTime: 0,
  }).data;
}

const WIDTH = 600;
const HEIGHT = 120;

/** Prompt tokens below, answers above them. The table says the same in numbers. */
export function Plot({ bars }: { bars: readonly Bar[] }) {
  const step = WIDTH / Math.max(1, bars.length);
  const most = Math.max(...bars.map(({ tokens }) => tokens));
  const [first, last] = [bars[0]?.day ?? "", bars.at(-1)?.day ?? ""];
  return (
    <figure className="rounded-2xl border border-line bg-surface p-4">
      <svg
        role="img"
        aria-label={t.plot(first, last, number(most))}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-32 w-full"
      >
        {bars.map(({ day, tokens, prompt, completion }, index) => (
          <g key={day}>
            <title>{t.onDay(day, number(tokens))}</title>
            <rect
              x={index * step}
              y={HEIGHT * (1 - prompt)}
              width={step * 0.8}
              height={HEIGHT * prompt}
              className="fill-ink-3"
            />
            <rect
              x={index * step}
              y={HEIGHT * (1 - prompt - completion)}
              width={step * 0.8}
              height={HEIGHT * completion}
              className="fill-good"
            />
          </g>
        ))}
      </svg>
      <figcaption className="mt-2 text-xs text-ink-3 tabular-nums">
        <p className="flex justify-between">
          <span>{first}</span>
          <span>{last}</span>
        </p>
        <p className="mt-1 flex flex-wrap gap-x-4">
          <Sort colour="bg-ink-3">{t.prompts}</Sort>
          <Sort colour="bg-good">{t.answers}</Sort>
          <span className="ml-auto">{t.mostInADay(number(most))}</span>
        </p>
      </figcaption>
    </figure>
  );
}

function Sort({ colour, children }: { colour: string; children: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-2.5 rounded-sm ${colour}`} /> {children}
    </span>
  );
}

interface SumsProps {
  by: Group;
  rows: readonly Row[];
  groups: number;
  total: Omit<Row, "key">;
}

export function Sums({ by, rows, groups, total }: SumsProps) {
  if (rows.length === 0) return <p className="text-sm text-ink-3">{by === "job" ? t.noJob : t.nothing}</p>;
  return (
    <div
      tabIndex={0}
      role="group"
      aria-label={t.groups[by]}
      className="overflow-x-auto rounded-2xl border border-line bg-surface"
    >
      <table className="w-full text-sm">
        <thead className="text-left text-xs text-ink-3">
          <tr>
            <th className="px-2.5 py-2 sm:px-4 font-medium">{t.groups[by]}</th>
            {[t.requests, t.tokens, t.cost].map((name) => (
              <th key={name} className="px-2.5 py-2 sm:px-4 text-right font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((row) => (
            <tr key={row.key}>
              <th
                scope="row"
                className="w-full min-w-24 [overflow-wrap:anywhere] px-2.5 py-2 sm:px-4 text-left font-normal"
              >
                <Key by={by} value={row.key} />
              </th>
              <Numbers used={row} />
            </tr>
          ))}
        </tbody>
        <tfoot className="border-t border-line-strong font-medium">
          <tr>
            <th scope="row" className="px-2.5 py-2 sm:px-4 text-left">
              {t.total}
            </th>
            <Numbers used={total} />
          </tr>
        </tfoot>
      </table>
      {groups > rows.length && <p className="px-4 pb-2 text-xs text-ink-3">{t.more(rows.length, groups)}</p>}
    </div>
  );
}

function Numbers({ used }: { used: Omit<Row, "key"> }) {
  const tokens = used.prompt + used.completion + used.reserved;
  return (
    <>
      <td className="px-2.5 py-2 sm:px-4 text-right tabular-nums">{number(used.requests)}</td>
      <td className="px-2.5 py-2 sm:px-4 text-right tabular-nums">{number(tokens)}</td>
      <td className="px-2.5 py-2 sm:px-4 text-right tabular-nums">
        {used.cost === null ? t.unknown : dollars(used.cost, 4)}
      </td>
    </>
  );
}

function Key({ by, value }: { by: Group; value: string }) {
  if (by === "chat") return <ChatKey id={value} />;
  if (by === "job") return <JobKey id={value} />;
  return by === "day" ? dayWords(new Date(`${value}T12:00:00Z`)) : value;
}

function ChatKey({ id }: { id: string }) {
  const { data, isError } = useQuery({
    queryKey: ["usage chat", id],
    queryFn: () => given(api.GET("/context/{chat_id}", { params: { path: { chat_id: id } } })),
    retry: false,
  });
  if (isError) return t.gone;
  return <a href={`#/chat/${id}`}>{data?.title ?? "…"}</a>;
}

function JobKey({ id }: { id: string }) {
  const { data, isError } = useQuery({
    queryKey: ["usage job", id],
    queryFn: () => given(api.GET("/jobs/{job_id}", { params: { path: { job_id: id } } })),
    retry: false,
  });
  if (isError) return t.gone;
  return <a href={`#/jobs/${id}`}>{data?.request ?? "…"}</a>;
}
