import { act } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { Working } from "./Working";

const line = vi.hoisted(() => ({ status: "live" }));
vi.mock("../state/sidebar", async (original) => ({ ...(await original<object>()), useConnection: () => line.status }));

const NOW = "2026-01-02T03:04:05.000Z";
const RETRY = {
  seconds: 12,
  until: "2026-01-02T03:04:17.000Z",
  attempt: 2,
  tries: 4,
  reason: "provider_rate_limited",
  status: 429,
};
const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));

beforeEach(() => vi.useFakeTimers({ now: Date.parse(NOW) }));
afterEach(() => vi.useRealTimers());

it("does not say that the agent works while the server cannot be heard", () => {
  line.status = "reconnecting";
  const { container } = show(<Working role="actor" since={NOW} retry={RETRY} />);
  expect(container.textContent).toBe("No connection to the server: what the agent does now is not known here.");
  line.status = "live";
});

it("counts down to the next attempt at the model's server, and then says again that the agent works", async () => {
  const { container } = show(<Working role="actor" since={NOW} retry={RETRY} />);
  expect(container.textContent).toBe("The model server is busy (429). Trying again in 12 s (2 of 4).");
  pass(5_000);
  expect(container.textContent).toContain("Trying again in 7 s");
  expect(container.querySelector("[role=status], [aria-live]")).toBeNull(); // the announcer says it, once
  pass(7_000);
  expect(container.textContent).toBe("Actor is working · 12 s");
  vi.useRealTimers();
  await expectAccessible(container);
});

it("says that the agent works only once an answer that comes has not grown for some seconds", () => {
  const at = (grown: number | null) => <Working role="actor" since={NOW} grown={grown} />;
  const { container, rerender } = show(at(7));
  expect(container.textContent).toBe("");
  pass(5_000);
  expect(container.textContent).toBe("Actor is working · 5.0 s");
  rerender(at(8));
  expect(container.textContent).toBe("");
  pass(3_000);
  expect(container.textContent).toBe("");
  pass(2_000);
  expect(container.textContent).toBe("Actor is working · 10 s");
});

// proves LOOP-11/1
it("says how far it is before the turn pauses, when few steps are left", () => {
  const left = (count: number | null) =>
    show(<Working role="actor" since={null} stepsLeft={count} />).container.textContent;
  expect([left(null), left(4)]).toEqual(["Actor is working…", "Actor is working…"]);
  expect(left(3)).toBe("Actor is working… · pauses after 3 more steps");
  expect(left(1)).toBe("Actor is working… · pauses after 1 more step");
  expect(left(0)).toBe("Actor is working… · pauses after this step");
});

it("names the MCP servers that the turn waits for, and for how long", async () => {
  const { container } = show(<Working role="actor" since={NOW} starting={["git", "mail"]} />);
  expect(container.textContent).toBe("Waiting for the MCP servers git, mail to start…");
  pass(5_000);
  expect(container.textContent).toBe("Waiting for the MCP servers git, mail to start · 5.0 s");
  vi.useRealTimers();
  await expectAccessible(container);
});

it("says what is wrong with a server that cannot be reached, and of a fault that it does not know that it failed", () => {
  const words = (reason: string, status: number | null) =>
    show(<Working role="actor" since={NOW} retry={{ ...RETRY, reason, status }} />).container.textContent;
  expect(words("provider_unreachable", null)).toMatch(/^The model server cannot be reached\. Trying/);
  expect(words("provider_overloaded", 503)).toMatch(/^The model server could not answer \(503\)\. Trying/);
  expect(words("provider_of_tomorrow", 599)).toMatch(/^The model server failed \(599\)\. Trying/);
});

it("says for how long the agent has been working while its model thinks, without an event", () => {
  const { container } = show(<Working role="actor" since={NOW} />);
  expect(container.textContent).toBe("Actor is working…");
  pass(42_000);
  expect(container.textContent).toBe("Actor is working · 42 s");
});
