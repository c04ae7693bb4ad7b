// One typed client for the JSON routes. A refusal becomes a Refusal with the server's own words; nothing is retried here.

import createClient from "openapi-fetch";
import { t as server } from "../texts/server";
import { t } from "../texts/ui";
import type { paths } from "./api.gen";
import { forbidden } from "./forbidden";
import { idempotency } from "./idempotency";
import { loose, text } from "./nouns";
import { serverClock } from "./serverClock";
import { withPageKey } from "./session";

const PATIENCE_MS = 120_000; // far more than any answer takes: a page must not wait for ever on a line that died

/** What only reads may be given up and asked again; what changes something is never given up: it may have been done. */
function patient(request: Request): Promise<Response> {
  return request.method === "GET" ? fetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) }) : fetch(request);
}

const api = createClient<paths>({
  baseUrl: globalThis.location?.origin ?? "",
  credentials: "same-origin",
  fetch: patient,
});
api.use(withPageKey, idempotency(), serverClock, forbidden);

export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly param: string | null,
    /** What is wrong with each parameter, where the server tells them all. */
    readonly faults: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

type Answer<T> = Promise<{ data?: T; error?: unknown; response: Response }>;

/** What the server answered. Throws: Refusal; status 0 if no answer came at all. */
export async function given<T>(asked: Answer<T>): Promise<T> {
  let answer: Awaited<Answer<T>>;
  try {
    answer = await asked;
  } catch {
    throw new Refusal(0, "unreachable", navigator.onLine ? t.isTheServerRunning : t.tryAgainWithNetwork, null);
  }
  if (answer.response.ok) return answer.data as T; // a 204 has none, and its caller wants none
  throw refusalOf(answer.response.status, answer.error);
}

function refusalOf(status: number, body: unknown): Refusal {
  const error = loose(loose(body)["error"]);
  const code = text(error["code"]) || "unknown";
  const words = text(error["message"]);
  return new Refusal(
    status,
    code,
    words ? server.refusal(code, words) : t.serverAnswered(status),
    text(error["param"]) || null,
    faultsOf(loose(body)["faults"]),
  );
}

function faultsOf(told: unknown): Record<string, string> {
  const faults = Array.isArray(told) ? told.map(loose) : [];
  return Object.fromEntries(faults.map(({ param, message }) => [text(param), text(message)]));
}

export { api };
