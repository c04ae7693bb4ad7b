// Short words about what just happened or could not happen. Shown by Toaster, said by anyone.
import { create } from "zustand";
import { Refusal } from "../wire/client";

export interface Toast {
  id: number;
  words: string;
  kind: "info" | "problem";
  action?: Action | undefined;
}

export interface Action {
  label: string;
  run: () => void;
}

const SHOWN_MS = 6_000;
let count = 0;

export const useToasts = create<{ toasts: readonly Toast[] }>(() => ({ toasts: [] }));

export function say(words: string, kind: Toast["kind"] = "info", action?: Action): void {
  const toast: Toast = { id: ++count, words, kind, action };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.slice(-2), toast] }));
  setTimeout(() => dismiss(toast.id), action ? 3 * SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

/** Runs what a person asked for; a refusal is shown in the server's own words. True if it was done. */
export async function attempt(act: Promise<unknown>): Promise<boolean> {
  try {
    await act;
    return true;
  } catch (error) {
    say(error instanceof Refusal ? error.message : "That did not work, and this page does not know why.", "problem");
    return false;
  }
}
