import { afterEach, expect, it, vi } from "vitest";
import { signIn } from "./session";

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
