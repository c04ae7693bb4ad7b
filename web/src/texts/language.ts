// The language of the page. It is chosen once, when the page is loaded: another choice loads the page again.
import { preference } from "../browser/preferences";
import { sizeText } from "./sizes";

export type Language = "en" | "de";

/** Each language by its own name, as people look for it. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: "English", de: "Deutsch" };

export const language: Language = chosen(preference("language"), navigator.languages ?? []);

// The texts of another language are a file of their own, and nothing runs before they are there.
const other = language === "de" ? (await import("./de")).texts : null;

/** The texts of one area in the page's language. */
export function translated<Texts>(area: string, en: Texts): Texts {
  return ((other as Record<string, unknown> | null)?.[area] as Texts) ?? en;
}

/** What the person set; else the first language of the browser that there are texts for. Pure. */
export function chosen(set: string | null, browser: readonly string[]): Language {
  const wanted = [set ?? "", ...browser].map((name) => name.toLowerCase().split("-")[0]);
  return (wanted.find((name) => name !== undefined && name in LANGUAGES) as Language | undefined) ?? "en";
}

/** A number as people of this language write it. */
export function number(value: number, of: Language = language): string {
  return value.toLocaleString(of);
}

/** A number with exactly so many digits behind the point or comma. */
export function decimal(value: number, digits: number, of: Language = language): string {
  return value.toLocaleString(of, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** US dollars, with at least two digits behind the point or comma. */
export function dollars(value: number, most = 2, of: Language = language): string {
  return value.toLocaleString(of, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: most,
  });
}

/** A day as people of this language write it. */
export function day(date: Date): string {
  return date.toLocaleDateString(language === "en" ? undefined : language);
}

/** The time zone of this browser, as `Europe/Berlin`. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A day and its month, without the year. */
export function dayAndMonth(date: Date): string {
  return date.toLocaleDateString(language === "en" ? undefined : language, { day: "numeric", month: "short" });
}

/** A day and a time as people of this language write them. */
export function dayAndTime(date: Date): string {
  return date.toLocaleString(language === "en" ? undefined : language);
}

/** A time of day as people of this language write it. */
export function timeOfDay(date: Date): string {
  return date.toLocaleTimeString(language === "en" ? undefined : language, { hour: "2-digit", minute: "2-digit" });
}

/** Words in a list, with an "and" before the last. */
export function listed(words: readonly string[]): string {
  return new Intl.ListFormat(language, { type: "conjunction" }).format(words);
}

/** 0 is Sunday. */
export function weekdayName(weekday: number): string {
  const sunday = Date.UTC(2023, 0, 1);
  return new Date(sunday + weekday * 86_400_000).toLocaleDateString(language, { weekday: "long", timeZone: "UTC" });
}

/** 1 is January. */
export function monthName(month: number): string {
  return new Date(Date.UTC(2023, month - 1)).toLocaleDateString(language, { month: "long", timeZone: "UTC" });
}

/** A size on the disk as people of this language write it. */
export function bytesText(bytes: number): string {
  return sizeText(bytes, language, language === "de" ? "Byte" : "bytes");
}
