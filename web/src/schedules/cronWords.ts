// A cron expression in words, where it has one of the common forms. Each other one stays as it is written.
import { listed, monthName, weekdayName } from "../texts/language";
import { t } from "../texts/schedules";

/** Null if it has no common form. Pure. */
export function cronWords(cron: string): string | null {
  const [minute, hour, days, months, weekdays, ...more] = cron.trim().split(/\s+/);
  if (minute === undefined || hour === undefined || more.length > 0) return null;
  if (days !== "*" && weekdays !== "*") return null; // either of them: no plain words for that
  const parts = [timeWords(minute, hour), daysWords(days), namedWords(weekdays, WEEKDAYS), namedWords(months, MONTHS)];
  if (parts.includes(null)) return null;
  const isEachDay = !(days !== "*" || weekdays !== "*") && !minute.startsWith("*") && !/[*-]/.test(hour);
  return [parts[0], isEachDay ? t.everyDay : "", ...parts.slice(1)].filter(Boolean).join(", ");
}

function timeWords(minute: string, hour: string): string | null {
  if (hour === "*") {
    if (minute === "*" || minute === "*/1") return t.everyMinute;
    const step = stepIn(minute, 60);
    if (step !== null) return t.everyMinutes(step);
    const at = numberIn(minute, 0, 59);
    return at === null ? null : at === 0 ? t.everyHour : t.everyHourAt(at);
  }
  const at = numberIn(minute, 0, 59);
  if (at === null) return null;
  const step = stepIn(hour, 24);
  if (step !== null) return at === 0 ? t.everyHours(step) : null;
  const [first, last, ...more] = hour.split("-").map((each) => numberIn(each, 0, 23));
  if (last != null && first != null && more.length === 0)
    return first < last ? t.everyHourBetween(clock(first, at), clock(last, at)) : null;
  const hours = hour.split(",").map((each) => numberIn(each, 0, 23));
  return hours.includes(null) ? null : t.atTimes(listed(hours.map((each) => clock(each ?? 0, at))));
}

function daysWords(field: string | undefined): string | null {
  if (field === "*") return "";
  const days = field?.split(",").map((each) => numberIn(each, 1, 31)) ?? [null];
  return days.includes(null) ? null : t.onDays(listed(days.map((each) => t.dayOfMonth(each ?? 0))));
}

interface Names {
  lowest: number;
  /** As cron writes them. */
  short: readonly string[];
  nameOf: (number: number) => string;
}

const WEEKDAYS: Names = {
  lowest: 0,
  short: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
  nameOf: weekdayName,
};
const MONTHS: Names = {
  lowest: 1,
  short: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  nameOf: monthName,
};

/** Names and ranges of names, in a list. */
function namedWords(field: string | undefined, names: Names): string | null {
  if (field === "*") return "";
  const words = field?.split(",").map((part) => rangeWords(part, names)) ?? [null];
  return words.includes(null) ? null : listed(words.map(String));
}

function rangeWords(part: string, names: Names): string | null {
  const ends = part.split("-").map((end) => positionOf(end, names));
  const [first, last] = ends;
  if (first == null || ends.length > 2 || ends.includes(null)) return null;
  if (last == null) return names.nameOf(first);
  return first < last ? t.fromTo(names.nameOf(first), names.nameOf(last)) : null;
}

function positionOf(end: string, { short, lowest }: Names): number | null {
  const at = short.indexOf(end.toUpperCase());
  const highest = lowest === 0 ? short.length : short.length + lowest - 1; // 7 is Sunday as well
  return at < 0 ? numberIn(end, lowest, highest) : at + lowest;
}

function numberIn(text: string, lowest: number, highest: number): number | null {
  const number = /^\d{1,2}$/.test(text) ? Number(text) : null;
  return number !== null && number >= lowest && number <= highest ? number : null;
}

/** The n of a field such as "every n", if the steps are all alike. */
function stepIn(text: string, of: number): number | null {
  const step = text.startsWith("*/") ? numberIn(text.slice(2), 2, of / 2) : null;
  return step !== null && of % step === 0 ? step : null;
}

const clock = (hour: number, minute: number) => [hour, minute].map((each) => String(each).padStart(2, "0")).join(":");
