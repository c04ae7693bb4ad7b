// Schedules and triggers: what the server has, what is asked of it, and what a form of theirs holds.
import { useQuery } from "@tanstack/react-query";
import { timeZone } from "../texts/language";
import { t } from "../texts/schedules";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import type { Parameter } from "../wire/nouns";
import { begun, filled } from "../workflows/filling";

type Schemas = components["schemas"];
export type Schedule = Schemas["ScheduleResponse"];
export type Trigger = Schemas["TriggerResponse"];
export type Startable = Schedule | Trigger;
export type Start = Schemas["StartResponse"];
/** A workflow or a job template, as the form offers it. */
export interface Startee {
  key: string;
  name: string;
  parameters: readonly Parameter[];
}

export const SCHEDULES = ["schedules"];
export const TRIGGERS = ["triggers"];
const LOOK_AGAIN = 10_000; // ms: they start by themselves

export function useSchedules() {
  return useQuery({
    queryKey: SCHEDULES,
    queryFn: async () => (await given(api.GET("/schedules"))).schedules,
    refetchInterval: LOOK_AGAIN,
  });
}

export function useTriggers() {
  return useQuery({
    queryKey: TRIGGERS,
    queryFn: async () => (await given(api.GET("/triggers"))).triggers,
    refetchInterval: LOOK_AGAIN,
  });
}

export function useTemplates() {
  return useQuery({
    queryKey: ["job-templates", {}],
    queryFn: async () => (await given(api.GET("/job-templates", { params: { query: {} } }))).templates,
  });
}

const isTrigger = (item: Startable): item is Trigger => "payload" in item;

/** What the form holds, as text. */
export interface Draft {
  name: string;
  startee: string;
  values: Readonly<Record<string, string | boolean>>;
  /** Of a trigger: where each parameter stands in the body; empty if it is fixed. */
  pointers: Readonly<Record<string, string>>;
  once: boolean;
  cron: string;
  at: string;
  timeZone: string;
  missed: Schedule["missed"];
  role: string;
  cost: string;
}

export function draftOf(item: Startable | null, startees: readonly Startee[]): Draft {
  const schedule = item && !isTrigger(item) ? item : null;
  const startee = item ? keyOf(item) : (startees[0]?.key ?? "");
  return {
    name: item?.name ?? "",
    startee,
    values: { ...begunWith(startee, startees), ...texts(item?.parameters ?? {}) },
    pointers: item && isTrigger(item) ? item.payload : {},
    once: schedule?.at != null,
    cron: schedule?.cron ?? "0 9 * * MON-FRI",
    at: schedule?.at ?? "",
    timeZone: schedule?.time_zone ?? timeZone(),
    missed: schedule?.missed ?? "once",
    role: item?.role ?? "",
    cost: item?.limits.cost == null ? "" : String(item.limits.cost),
  };
}

/** The values that another workflow's fields begin with. */
export function begunWith(key: string, startees: readonly Startee[]): Draft["values"] {
  return begun(startees.find((startee) => startee.key === key)?.parameters ?? []);
}

/** What is sent for this draft. Pure. */
export function bodyOf(draft: Draft, item: Startable | null, trigger: boolean): Record<string, unknown> {
  const [kind, name] = draft.startee.split(":", 2) as [string, string];
  const pointers = Object.entries(draft.pointers).filter(
    ([parameter, pointer]) => pointer.trim() && parameter in draft.values,
  );
  const payload = Object.fromEntries(pointers);
  const values = Object.entries(filled(draft.values)).filter(([parameter]) => !trigger || !(parameter in payload));
  const times = draft.once ? { at: draft.at } : { cron: draft.cron };
  return {
    name: draft.name,
    [kind]: name,
    parameters: Object.fromEntries(values),
    ...(trigger ? { payload } : { ...times, time_zone: draft.timeZone, missed: draft.missed }),
    role: draft.role || null,
    limits: { ...item?.limits, cost: draft.cost.trim() ? Number(draft.cost.replace(",", ".")) : null },
  };
}

/** How its newest start stands or ended, in words, and where it is to be seen. Pure. */
export function outcomeOf(start: Start): { words: string; link: string | null } {
  const outcome = start.outcome ?? start.status;
  const words = (t.outcomes as Record<string, string>)[outcome] ?? outcome;
  const chat = start.context_id ? `#/chat/${start.context_id}` : null;
  return { words, link: start.job_id && start.context_id ? `#/jobs/${start.job_id}` : chat };
}

function keyOf({ workflow, template }: Startable): string {
  return workflow === null ? `template:${template}` : `workflow:${workflow}`;
}

function texts(parameters: Readonly<Record<string, unknown>>): Draft["values"] {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, typeof value === "boolean" ? value : String(value)]),
  );
}
