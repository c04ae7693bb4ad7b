// This browser's subscription to Web Push, and where a tap on a notification leads.
import { language } from "../texts/language";
import worker from "./push.worker.ts?worker&url";

const HASH = /^#\/(chat\/[\w-]{1,64})?$/;

/** Whether this browser takes pushes here: it needs https, or the machine itself. */
export function canPush(): boolean {
  return "serviceWorker" in navigator && "PushManager" in window && typeof Notification !== "undefined";
}

export async function subscription(): Promise<PushSubscription | null> {
  if (!canPush()) return null;
  const registration = await navigator.serviceWorker.getRegistration(worker);
  return (await registration?.pushManager.getSubscription()) ?? null;
}

/** Asks the person for their consent first; null without it. */
export async function subscribe(serverKey: string): Promise<PushSubscription | null> {
  if ((await Notification.requestPermission()) !== "granted") return null;
  const registration = await navigator.serviceWorker.register(`${worker}?language=${language}`);
  await ready(registration);
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: serverKey });
}

/** A tap opens the chat in the page that is open already. */
export function followTaps(): void {
  if (!("serviceWorker" in navigator)) return;
  navigator.serviceWorker.addEventListener("message", ({ data }: MessageEvent<{ open?: unknown } | null>) => {
    const hash = data?.open;
    if (typeof hash === "string" && HASH.test(hash)) location.hash = hash;
  });
  navigator.serviceWorker.startMessages();
}

/** Its worker controls no page, so `navigator.serviceWorker.ready` would wait for ever. */
async function ready(registration: ServiceWorkerRegistration): Promise<void> {
  const starting = registration.installing ?? registration.waiting;
  if (!starting || registration.active) return;
  await new Promise<void>((done) => {
    starting.addEventListener("statechange", () => starting.state === "activated" && done());
  });
}
