import { afterEach, expect, it, vi } from "vitest";
import { isLinkRefused, redeemCode, signIn } from "./session";

afterEach(() => void vi.unstubAllGlobals());

it("gives up on an answer that breaks off or never comes, so that the page is shown all the same", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response('{"page_k')));
  await expect(signIn({ code: "once" })).resolves.toBe("unreachable");
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => {
    expect(signal).toBeInstanceOf(AbortSignal);
    return Promise.reject(new DOMException("", "TimeoutError"));
  });
  await expect(signIn({ code: "once" })).resolves.toBe("unreachable");
});

it("keeps a link's code in the address until the server has answered, and tries one again that nobody answered", async () => {
  const asked: unknown[] = [];
  const answers: (() => Promise<Response>)[] = [
    () => Promise.reject(new TypeError("no line")),
    () => Promise.resolve(new Response("{}", { status: 401 })),
  ];
  vi.stubGlobal("fetch", (_: string, { body }: RequestInit) => {
    asked.push([JSON.parse(String(body)), location.hash]);
    return answers.shift()!();
  });
  history.replaceState(null, "", "#code=once&confirmation=123456");
  await expect(redeemCode()).resolves.toBe("unreachable");
  expect([location.hash, isLinkRefused()]).toEqual(["#code=once&confirmation=123456", false]);
  location.hash = "#/"; // the page has no such address
  await expect(redeemCode()).resolves.toBe("no");
  const link = { code: "once", confirmation: "123456" };
  expect(asked).toEqual([
    [link, "#code=once&confirmation=123456"],
    [link, "#/"],
  ]);
  expect([location.hash, isLinkRefused()]).toEqual(["#/", true]);
  await expect(redeemCode()).resolves.toBeNull();
});

it("leaves a page where it went while its code was redeemed", async () => {
  vi.stubGlobal("fetch", () => {
    location.hash = "#/jobs";
    return Promise.resolve(new Response('{"page_key": "key"}'));
  });
  history.replaceState(null, "", "#code=once");
  await expect(redeemCode()).resolves.toBe("yes");
  expect(location.hash).toBe("#/jobs");
});
