// Times as people say them. Pure: t.now is given.
import { dayAndMonth, decimal, timeOfDay } from "../texts/language";
import { t } from "../texts/ui";

export function seconds(value: number): string {
  if (value < 0.1) return t.shortest;
  if (value < 10) return t.s(decimal(value, 1));
  if (value < 60) return t.s(Math.round(value));
  return t.minS(Math.floor(value / 60), Math.round(value % 60));
}

export function clock(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "" : timeOfDay(at);
}

export function ago(iso: string, now: number): string {
  const minutes = Math.floor((now - Date.parse(iso)) / 60_000);
  if (!Number.isFinite(minutes)) return "";
  if (minutes < 1) return t.now;
  if (minutes < 60) return t.min(minutes);
  if (minutes < 60 * 24) return t.h(Math.floor(minutes / 60));
  if (minutes < 60 * 24 * 7) return t.d(Math.floor(minutes / 60 / 24));
  return dayAndMonth(new Date(iso));
}
