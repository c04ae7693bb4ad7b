// Days and bars of the usage plot. Pure.

export interface DayUsage {
  key: string;
  prompt: number;
  completion: number;
}

export interface Bar {
  day: string;
  tokens: number;
  /** Shares of the highest bar, 0 to 1. */
  prompt: number;
  completion: number;
}

const DAY = 86_400_000;
const MOST_BARS = 366;

/** The day (UTC) so many days before another, as the server writes days. */
export function daysBefore(now: number, days: number): string {
  return new Date(now - days * DAY).toISOString().slice(0, 10);
}

/** One bar for each day from the first to the last, those without use too. */
export function barsOf(rows: readonly DayUsage[], first: string | null, last: string): Bar[] {
  const byDay = new Map(rows.map((row) => [row.key, row]));
  const from = first ?? rows.map(({ key }) => key).sort()[0] ?? last;
  const most = Math.max(1, ...rows.map(({ prompt, completion }) => prompt + completion));
  const days: string[] = [];
  for (let at = Date.parse(last); at >= Date.parse(from) && days.length < MOST_BARS; at -= DAY)
    days.unshift(new Date(at).toISOString().slice(0, 10));
  return days.map((day) => {
    const { prompt = 0, completion = 0 } = byDay.get(day) ?? {};
    return { day, tokens: prompt + completion, prompt: prompt / most, completion: completion / most };
  });
}
