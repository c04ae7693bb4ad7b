// Which message a fork was asked for, and how; the dialog shows it.
import { create } from "zustand";

export type ForkKind = "fork" | "edit" | "regenerate";

export interface ForkWish {
  kind: ForkKind;
  messageId: string;
  /** What the person had written; it is sent again. */
  content: string;
}

export const useForkWish = create<{ wish: ForkWish | null }>(() => ({ wish: null }));

export function askToFork(wish: ForkWish | null): void {
  useForkWish.setState({ wish });
}
