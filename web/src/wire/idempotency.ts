// Every POST carries an Idempotency-Key. A wish whose answer was lost is the same wish when it is sent again, and keeps its key:
// the server may have done it already, and does it once.
import type { Middleware } from "openapi-fetch";
import { unique } from "./unique";

interface Wish {
  url: string;
  body: string;
  key: string;
  at: number;
}

const REMEMBERED_MS = 10 * 60_000; // the same words much later are a new wish

export function idempotency(now: () => number = Date.now): Middleware {
  const underway = new Map<string, Wish>();
  const unanswered = new Map<string, Wish>(); // by address
  return {
    async onRequest({ request, id }) {
      if (request.method !== "POST") return;
      const { url } = request;
      const body = await request.clone().text();
      const lost = unanswered.get(url);
      const again = lost?.body === body && now() - lost.at < REMEMBERED_MS;
      const wish = { url, body, key: again ? lost.key : unique(), at: now() };
      underway.set(id, wish);
      request.headers.set("Idempotency-Key", wish.key);
    },
    onResponse({ request, id }) {
      if (underway.delete(id)) unanswered.delete(request.url);
    },
    onError({ id }) {
      const wish = underway.get(id);
      if (!underway.delete(id) || !wish) return;
      unanswered.set(wish.url, wish);
    },
  };
}
