// Times as people say them: pure functions of a time that is given, and ages that move on while a page shows them.
import { useSyncExternalStore } from "react";
import { dayAndMonth, decimal, timeOfDay } from "../texts/language";
import { t } from "../texts/ui";
import { serverNow } from "../wire/serverClock";

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

/** How long ago it was. Whoever shows it is drawn again when the words change. */
export function useAgo(iso: string): string {
  return useSyncExternalStore(whileVisible, () => ago(iso, serverNow()));
}

const TICK_MS = 10_000; // how late an age may be
const watchers = new Set<() => void>();
let timer: number | undefined;

/** Tells every age of the page to look again: one timer for all, and none while nobody sees the page. */
function whileVisible(look: () => void): () => void {
  if (watchers.size === 0) document.addEventListener("visibilitychange", followVisibility);
  watchers.add(look);
  runTimer();
  return () => {
    watchers.delete(look);
    if (watchers.size === 0) document.removeEventListener("visibilitychange", followVisibility);
    runTimer();
  };
}

function followVisibility(): void {
  runTimer();
  if (!document.hidden) lookAll();
}

function runTimer(): void {
  const runs = watchers.size > 0 && !document.hidden;
  if (runs) timer ??= window.setInterval(lookAll, TICK_MS);
  else {
    window.clearInterval(timer);
    timer = undefined;
  }
}

function lookAll(): void {
  for (const look of [...watchers]) look();
}
