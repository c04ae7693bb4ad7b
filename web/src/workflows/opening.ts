// Whether the selector is open, and at which workflow: it is opened from the composer, its completion and the palette alike.
import { create } from "zustand";
import type { Workflow } from "../wire/nouns";

export interface Opening {
  open: boolean;
  /** Its key; null shows the list. */
  at: string | null;
}

export const useOpening = create<Opening>(() => ({ open: false, at: null }));

export function openWorkflows(at: string | null = null): void {
  useOpening.setState({ open: true, at });
}

export function closeWorkflows(): void {
  useOpening.setState({ open: false, at: null });
}

/** A name may stand in two places, one of them not trusted. */
export function keyOf({ source, path }: Pick<Workflow, "source" | "path">): string {
  return `${source}:${path}`;
}
