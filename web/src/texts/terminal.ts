// Texts of the terminal pane and of the person's own commands.
import { translated } from "./language";

export const en = {
  terminal: "Terminal",
  showTerminal: "Terminal",
  closeTerminal: "Close the terminal",
  commandsAndOutput: "Commands and their output",
  about: "Your commands run with your own rights, past the agent's role, rules and sandbox.",
  yourCommand: "Your command",
  placeholder: "A command of your own, such as git status",
  run: "Run",
  stop: "Stop",
  stopNamed: (command: string) => `Stop ${command}`,
  you: "You",
  agent: "Agent",
  nothingYet: "No command has run in this chat yet.",
  running: "running",
  noOutput: "It printed nothing.",
  cut: "Only the end is shown here.",
  ends: {
    exited: "ended",
    stopped: "stopped",
    timed_out: "ended at the time limit",
    too_much_output: "ended: it printed too much",
    not_started: "not started",
    ok: "done",
    error: "failed",
    refused: "refused",
    denied: "denied",
    interrupted: "interrupted",
    cancelled: "cancelled",
  } as Readonly<Record<string, string>>,
  exitCode: (code: number) => `exit code ${code}`,
  noEnd: "Its end is not recorded: the server stopped while it ran.",
  cannotBeUndone: (why: string) => `Cannot be undone. ${why}`,
  youRan: "You ran",
  youStarted: "You started",
  youHad: "You opened",
  aTerminal: "a terminal",
  shell: "Shell",
  notRecorded: "What a shell prints is not recorded, what it changed is.",
  filesChanged: (files: number) => (files === 1 ? "1 file changed" : `${files} files changed`),
  earlier: "Show earlier messages",
  openShell: "Open a shell",
  openingShell: "Opening…",
  endShell: "End the shell",
  connectionLost: "The connection to this terminal was lost. Close the terminal and open it again.",
  aboutTerminal:
    "Runs with your own rights. Agents wait with writing in this folder until it ends. Ctrl+Shift+Escape leaves it.",
};

export type Texts = typeof en;
export const t = translated("terminal", en);
