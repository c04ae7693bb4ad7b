// Short words about what just happened or could not happen. Shown by Toaster, said by anyone.

import { create } from "zustand";
import { t } from "../texts/ui";
import { Refusal } from "../wire/client";

export interface Toast {
  id: number;
  words: string;
  kind: "info" | "problem";
  action?: Action | undefined;
}

interface Action {
  label: string;
  run: () => void;
}

const SHOWN_MS = 6_000;
let count = 0;

/** `places` are where toasts could stand, the newest last: behind an open dialog nothing can be read or pressed. */
export const useToasts = create<{ toasts: readonly Toast[]; places: readonly string[] }>(() => ({
  toasts: [],
  places: [],
}));

/** A place for toasts that shows them until it is left, or a newer one is there. */
export function offerPlace(place: string): () => void {
  useToasts.setState(({ places }) => ({ places: [...places, place] }));
  return () => useToasts.setState(({ places }) => ({ places: places.filter((one) => one !== place) }));
}

export function say(words: string, kind: Toast["kind"] = "info", action?: Action): void {
  const toast: Toast = { id: ++count, words, kind, action };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.filter((one) => one.words !== words).slice(-2), toast] })); // the same twice is once
  setTimeout(() => dismiss(toast.id), action ? 3 * SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

/** Another tab, or another person, was quicker: news, and no fault of anyone. */
const SETTLED = new Set(["already_decided", "already_answered", "plan_already_approved"]);

/** Runs what a person asked for; a refusal is shown in the server's own words. True if it was done. */
export async function attempt(act: Promise<unknown>): Promise<boolean> {
  try {
    await act;
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) say(t.thatDidNotWorkAnd, "problem");
    else say(error.message, SETTLED.has(error.code) ? "info" : "problem");
    return false;
  }
}
