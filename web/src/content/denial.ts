/** A denial tells the model what to do next. The person who denied reads their own words only; null if they gave none. */
export function denialReason(message: string): string | null {
  return /They said: (“[\s\S]*”) Do not try it again/.exec(message)?.[1] ?? null;
}
