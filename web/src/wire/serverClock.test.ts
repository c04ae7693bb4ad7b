import { afterEach, expect, it, vi } from "vitest";
import { serverClock, serverNow } from "./serverClock";

const NOON = Date.UTC(2026, 0, 1, 12);
const answered = (date: string) =>
  serverClock.onResponse!({ response: new Response(null, { headers: { date } }) } as never);

afterEach(() => vi.useRealTimers());

it.each([
  ["an hour ahead", NOON + 3_600_000, NOON],
  ["an hour behind", NOON - 3_600_000, NOON],
  ["right, and the answer slow", NOON + 3_000, NOON + 3_000],
])("tells the server's time to a device whose clock is %s", (_, device, told) => {
  vi.useFakeTimers({ now: device });
  answered(new Date(NOON).toUTCString());
  expect(serverNow()).toBe(told);
});
