import createClient from "openapi-fetch";
import { expect, it } from "vitest";
import { idempotency } from "./idempotency";

/** A client whose line is as told, in turn; and the keys that went over it. */
function over(...line: ("lost" | "answered")[]) {
  const keys: (string | null)[] = [];
  let now = 0;
  const client = createClient<Record<string, never>>({
    baseUrl: "http://server",
    fetch: async (request) => {
      keys.push(request.headers.get("Idempotency-Key"));
      if (line.shift() === "lost") throw new TypeError("the line is down");
      return new Response("{}", { status: 202, headers: { "content-type": "application/json" } });
    },
  });
  client.use(idempotency(() => now));
  const send = (content: string, address = "/messages") =>
    client.request("post" as never, address as never, { body: { content } } as never).catch(() => {});
  return { keys, send, later: (ms: number) => (now += ms) };
}

it("gives what is sent again after a lost answer the key it had", async () => {
  const { keys, send } = over("lost", "lost", "answered");
  for (let pressed = 0; pressed < 3; pressed += 1) await send("go on");
  expect(keys[0]).toBeTruthy();
  expect(new Set(keys).size).toBe(1);
});

it("takes the same words for a new wish once they were answered, after a while, and elsewhere", async () => {
  const { keys, send, later } = over("lost", "answered", "answered", "lost", "lost", "answered");
  await send("go on");
  await send("go on");
  await send("go on");
  await send("go on", "/elsewhere");
  later(11 * 60_000);
  await send("go on", "/elsewhere");
  await send("go on, please", "/elsewhere");
  expect(new Set(keys).size).toBe(5);
});
