// What people and groups may use on a day, and what they used today.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { dollars, number } from "../texts/language";
import { t } from "../texts/limits";
import { Button } from "../ui/Button";
import { Field, INPUT, VERBATIM } from "../ui/Field";
import { Form } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type Limited = components["schemas"]["LimitedSubject"];
type Amounts = components["schemas"]["DayLimitsResponse"];
type Report = components["schemas"]["AllLimitsResponse"];

export const LIMITS = ["limits"];
const FIELDS = [
  { amount: "usd_per_day", label: t.dollarsADay },
  { amount: "tokens_per_day", label: t.tokensADay },
  { amount: "jobs", label: t.jobsAtOnce },
] as const;

export function DayLimits() {
  const queries = useQueryClient();
  const { data } = useQuery({ queryKey: LIMITS, queryFn: () => given(api.GET("/limits")), staleTime: 0 });
  if (!data) return null;
  const save = async (body: object) => {
    queries.setQueryData(LIMITS, await given(api.PUT("/limits", { body: body as never })));
    say(t.saved);
  };
  return (
    <div className="space-y-3">
      <TodayList today={data.today} />
      <DayLimitsForm report={data} onSave={save} />
    </div>
  );
}

export function TodayList({ today }: { today: readonly Limited[] }) {
  return (
    <ul aria-label={t.today} className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {today.map(({ kind, id, name, limits, used }) => (
        <li key={`${kind} ${id}`} className="px-4 py-2 text-sm">
          <span className="block truncate">{kind === "group" ? t.group(name) : name}</span>
          <span className="block text-xs text-ink-3 tabular-nums">
            {[
              t.used(dollars(used.usd, 4), limits.usd_per_day === null ? null : dollars(limits.usd_per_day, 4)),
              t.tokens(t.used(number(used.tokens), written(limits.tokens_per_day))),
              t.jobs(t.used(number(used.jobs), written(limits.jobs))),
            ].join(" · ")}
          </span>
        </li>
      ))}
    </ul>
  );
}

const written = (limit: number | null) => (limit === null ? null : number(limit));

interface DayLimitsFormProps {
  report: Report;
  onSave: (body: object) => Promise<void>;
}

/** `person` or `group`, with the id of one after a space. */
export function DayLimitsForm({ report, onSave }: DayLimitsFormProps) {
  const [who, setWho] = useState("person");
  const [group, setGroup] = useState("");
  const [typed, setTyped] = useState<Record<string, string>>(() => asTyped(report.person));
  const [attemptHere, refusal] = useRefusal();
  const choose = (chosen: string) => {
    setWho(chosen);
    const subject = report.today.find(({ kind, id }) => `${kind} ${id}` === chosen);
    setTyped(asTyped(chosen === "person" ? report.person : chosen === "group" ? report.group : subject?.limits));
  };
  const amounts = readAmounts(typed);
  const name = who === "new" ? group.trim() : who.split(" ")[1];
  const save = async () => {
    if (!amounts || (who === "new" && !name)) return;
    const kind = who.startsWith("person") ? "person" : "group";
    await attemptHere(onSave({ [kind]: name ? { [name]: amounts } : amounts }));
  };
  return (
    <Form onSubmit={() => void save()}>
      <Field label={t.who}>
        <select value={who} onChange={({ target }) => choose(target.value)} className={INPUT}>
          <option value="person">{t.each}</option>
          <option value="group">{t.eachGroup}</option>
          {report.today.map(({ kind, id, name: shown }) => (
            <option key={`${kind} ${id}`} value={`${kind} ${id}`}>
              {kind === "group" ? t.group(shown) : shown}
            </option>
          ))}
          <option value="new">{t.newGroup}</option>
        </select>
      </Field>
      {who === "new" && (
        <Field label={t.groupName}>
          <input
            {...VERBATIM}
            value={group}
            maxLength={60}
            onChange={({ target }) => setGroup(target.value)}
            className={INPUT}
          />
        </Field>
      )}
      <div className="grid gap-3 sm:grid-cols-3">
        {FIELDS.map(({ amount, label }) => (
          <Field key={amount} label={label}>
            <input
              inputMode="decimal"
              placeholder={t.noLimit}
              value={typed[amount] ?? ""}
              onChange={({ target }) => setTyped({ ...typed, [amount]: target.value })}
              className={INPUT}
            />
          </Field>
        ))}
      </div>
      {refusal}
      <Button type="submit" disabled={!amounts}>
        {t.save}
      </Button>
    </Form>
  );
}

function asTyped(limits: Amounts | undefined): Record<string, string> {
  return Object.fromEntries(FIELDS.map(({ amount }) => [amount, limits?.[amount]?.toString() ?? ""]));
}

/** Null if one of them cannot be meant. Pure. */
export function readAmounts(typed: Readonly<Record<string, string>>): Record<string, number> | null {
  const amounts: Record<string, number> = {};
  for (const { amount } of FIELDS) {
    const words = (typed[amount] ?? "").trim();
    if (!words) continue;
    const value = Number(words);
    if (!(value >= 0) || (amount !== "usd_per_day" && !Number.isInteger(value))) return null;
    amounts[amount] = value;
  }
  return amounts;
}
