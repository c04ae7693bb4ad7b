// Whether the terminal stands below the chat.
import { create } from "zustand";

export const useTerminalPane = create<{ open: boolean }>(() => ({ open: false }));

/** The same button and key open and close it. */
export function turnTerminal(): void {
  useTerminalPane.setState(({ open }) => ({ open: !open }));
}

export function openTerminal(): void {
  useTerminalPane.setState({ open: true });
}

export function closeTerminal(): void {
  useTerminalPane.setState({ open: false });
}
