// Short words about what happened elsewhere. Shown by Toaster. What a person's act has done is said in its place: see outcomes.ts.

import { create } from "zustand";

export type Kind = "info" | "problem";

export interface Action {
  label: string;
  run: () => void;
}

export interface Toast {
  id: number;
  words: string;
  kind: Kind;
  action?: Action | undefined;
}

export const SHOWN_MS = 6_000;
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

export function toast(words: string, kind: Kind = "info", action?: Action): void {
  const toast: Toast = { id: ++count, words, kind, action };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.filter((one) => one.words !== words).slice(-2), toast] })); // the same twice is once
  setTimeout(() => dismiss(toast.id), action ? 3 * SHOWN_MS : SHOWN_MS);
}

export function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}
