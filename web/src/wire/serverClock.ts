// The server's clock, as its answers tell it: a phone whose own is wrong should still say how long ago something was.
import type { Middleware } from "openapi-fetch";

const JITTER_MS = 5_000; // what a slow answer and whole seconds make of two clocks that agree
let ahead = 0;

/** The moment that it is where the times of messages come from. */
export function serverNow(): number {
  return Date.now() - ahead;
}

export const serverClock: Middleware = {
  onResponse({ response }) {
    const difference = Date.now() - Date.parse(response.headers.get("date") ?? "");
    if (Number.isFinite(difference)) ahead = Math.abs(difference) < JITTER_MS ? 0 : difference;
  },
};
