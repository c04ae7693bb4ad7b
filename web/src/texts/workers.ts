// Texts of the workers: machines that run the commands of tasks.
import { translated } from "./language";

export const en = {
  page: "Workers",
  title: "Workers",
  about:
    "Machines that run the commands of a job's tasks. They need the program and this server's address, nothing else.",
  none: "No workers yet. This server runs everything itself.",
  invite: "Invite worker",
  labels: "Labels that it may offer",
  labelsExample: "Labels (optional)",
  runThere:
    "Run this on the other machine, with an address of this server that it reaches. It is good once, for an hour.",
  theCommand: "The command for the new worker",
  copyCommand: "Copy the command",
  done: "Done",
  load: (tasks: number) => (tasks === 0 ? "idle" : tasks === 1 ? "1 task" : `${tasks} tasks`),
  cache: (size: string) => `${size} cached`,
  ofTheDatabase: "takes whole jobs",
  since: (date: Date) => `since ${date.toLocaleString("en")}`,
  refused: (reason: string) => `Gets no tasks: ${reason}`,
  remove: (host: string) => `Remove the worker on ${host}`,
  removed: (host: string) => `The worker on ${host} was removed. It needs a new invitation to come back.`,
};

export type Texts = typeof en;
export const t = translated("workers", en);
