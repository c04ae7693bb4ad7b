// The browser's session: a cookie that the page cannot read, and a page key that other ports of this host cannot read. Both are needed.
import type { Middleware } from "openapi-fetch";

const PAGE_KEY_HEADER = "X-AnyCowork-Page-Key";
const STORED_AS = "anycowork.page-key";
const PATIENCE_MS = 20_000; // nothing is shown before the code of the address was redeemed
let unstored: string | null = null; // where the browser keeps nothing for pages, the key lasts as long as the page

export function pageKey(): string | null {
  try {
    return localStorage.getItem(STORED_AS) ?? unstored;
  } catch {
    return unstored;
  }
}

export function pageKeyHeaders(key: string | null = pageKey()): Record<string, string> {
  return key === null ? {} : { [PAGE_KEY_HEADER]: key };
}

/** Sends the page key with every request. */
export const withPageKey: Middleware = {
  onRequest({ request }) {
    const key = pageKey();
    if (key !== null) request.headers.set(PAGE_KEY_HEADER, key);
  },
};

type SignInLink = { code: string; confirmation?: string };

let unanswered: SignInLink | null = null; // what the address held when the server did not answer

/** Redeems the one-time code of the address; null if there is none. The code leaves the address with the server's answer and not before:
 * a page that is loaded again meanwhile tries it again. Without an answer the next call does. Who went on to another page meanwhile stays
 * there. */
export async function redeemCode(): Promise<SignedIn | null> {
  const link = linkIn(location.hash) ?? unanswered;
  if (!link) return null;
  const redeemed = await signIn(link);
  unanswered = redeemed === "unreachable" ? link : null;
  if (redeemed !== "unreachable") {
    const address = linkIn(location.hash) ? "/#/" : location.href;
    history.replaceState({ refusedLink: redeemed === "no" }, "", address);
  }
  return redeemed;
}

/** Whether the link that led to this page signed nobody in: the history's entry says so, also after the page was loaded again. */
export function isLinkRefused(): boolean {
  return (history.state as { refusedLink?: boolean } | null)?.refusedLink === true;
}

function linkIn(hash: string): SignInLink | null {
  const [, code, confirmation] = /^#code=([\w-]+)(?:&confirmation=(\d+))?$/.exec(hash) ?? [];
  return code === undefined ? null : { code, ...(confirmation && { confirmation }) };
}

type SignedIn = "yes" | "no" | "unreachable";

/** Begins a session with a one-time code or with the server's token. */
export async function signIn(by: SignInLink | { token: string }): Promise<SignedIn> {
  const bearer: Record<string, string> = "token" in by ? { authorization: `Bearer ${by.token}` } : {};
  const body = JSON.stringify("code" in by ? by : {});
  const headers = { "content-type": "application/json", ...bearer };
  const answer = await fetch("/session", {
    method: "POST",
    body,
    headers,
    credentials: "same-origin",
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).catch(() => null);
  if (!answer) return "unreachable";
  if (!answer.ok) return "no";
  const session = (await answer.json().catch(() => null)) as { page_key: string } | null;
  if (!session) return "unreachable";
  keep(session.page_key);
  return "yes";
}

/** Lets the session of a printed link manage, with the digits beside it. */
export async function confirmSession(confirmation: string): Promise<SignedIn> {
  const answer = await fetch("/session/confirmation", {
    method: "POST",
    body: JSON.stringify({ confirmation }),
    headers: { "content-type": "application/json", ...pageKeyHeaders() },
    credentials: "same-origin",
  }).catch(() => null);
  return answer ? (answer.ok ? "yes" : "no") : "unreachable";
}

/** Ends this browser's session, on the server and here. */
export async function signOut(): Promise<void> {
  await fetch("/session", { method: "DELETE", headers: pageKeyHeaders(), credentials: "same-origin" }).catch(
    () => null,
  );
  keep(null);
  location.reload();
}

/** Calls back when another tab of this browser signed in or out. */
export function onSessionChange(changed: () => void): () => void {
  const heard = ({ key }: StorageEvent) => key === STORED_AS && changed();
  window.addEventListener("storage", heard);
  return () => window.removeEventListener("storage", heard);
}

function keep(key: string | null): void {
  unstored = key;
  try {
    if (key === null) localStorage.removeItem(STORED_AS);
    else localStorage.setItem(STORED_AS, key);
  } catch {
    // kept in memory
  }
}
