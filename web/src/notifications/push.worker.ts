// The service worker of Web Push: it shows what was pushed, and a tap opens the chat at what waits. It stores and fetches nothing.
import { noticeOf } from "./message";

interface PushEvent {
  data: { json: () => unknown } | null;
  waitUntil: (work: Promise<unknown>) => void;
}
interface ClickEvent {
  notification: { data: unknown; close: () => void };
  waitUntil: (work: Promise<unknown>) => void;
}
interface OpenPage {
  focus: () => Promise<unknown>;
  postMessage: (message: unknown) => void;
}
interface WorkerScope {
  registration: { showNotification: (title: string, options: object) => Promise<void> };
  clients: {
    matchAll: (options: object) => Promise<OpenPage[]>;
    openWindow: (url: string) => Promise<unknown>;
  };
  addEventListener: ((type: "push", listen: (event: PushEvent) => void) => void) &
    ((type: "notificationclick", listen: (event: ClickEvent) => void) => void);
}

const scope = globalThis as unknown as WorkerScope; // the DOM's types know no service worker's scope
const language = new URL(globalThis.location.href).searchParams.get("language");

scope.addEventListener("push", (event) => {
  const { body, tag, hash } = noticeOf(contentOf(event), language);
  event.waitUntil(scope.registration.showNotification("AnyCowork", { body, tag, data: hash, renotify: true }));
});

scope.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(String(event.notification.data)));
});

function contentOf({ data }: PushEvent): unknown {
  try {
    return data?.json();
  } catch {
    return null; // not of this server: told as something that waits
  }
}

async function open(hash: string): Promise<void> {
  const [page] = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!page) {
    await scope.clients.openWindow(`/${hash}`);
    return;
  }
  page.postMessage({ open: hash });
  await page.focus();
}
