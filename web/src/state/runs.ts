// Where the runs of workflows stand: as the events told, or as far as the messages show it to who came later. Pure.
import { type ChatState, loose, type Message, text } from "../wire/nouns";

export type RunStatus = "running" | "completed" | "failed" | "stopped" | "interrupted";

export interface Run {
  run_id: string;
  name: string;
  step: number;
  of: number;
  status: RunStatus;
  title: string;
  error: string | null;
}

export type Runs = Readonly<Record<string, Run>>;

const STATUSES: readonly string[] = ["running", "completed", "failed", "stopped", "interrupted"];

export function readRun(value: unknown): Run | null {
  const run = loose(value);
  const { step, of } = run;
  if (
    !text(run["run_id"]) ||
    typeof step !== "number" ||
    typeof of !== "number" ||
    !STATUSES.includes(text(run["status"]))
  )
    return null;
  const error = text(loose(run["error"])["message"]) || null;
  return {
    run_id: text(run["run_id"]),
    name: text(run["name"]),
    step,
    of,
    status: text(run["status"]) as RunStatus,
    title: text(run["title"]),
    error,
  };
}

/** The run that this message belongs to, as it stood when the message was written. */
export function runOf({ payload }: Message): Run | null {
  return readRun(loose(payload)["workflow"]);
}

/** The words that ordered the run; its other messages are its steps. */
export function isOrder({ role, content }: Message, { name }: Run): boolean {
  return role === "user" && content.split(/\s/, 1)[0] === `/${name}`;
}

/** Every run of the loaded messages. Each step's message tells how far it was; how it ended is told by what follows. */
export function runsOf({
  messages,
  runs,
  state,
}: {
  messages: readonly Message[];
  runs: Runs;
  state: ChatState;
}): Runs {
  const found: Record<string, Run> = {};
  let last: string | null = null;
  for (const message of messages) {
    const run = runOf(message);
    if (run) found[run.run_id] = run;
    last = message.turn_id ?? last;
  }
  for (const [id, run] of Object.entries(found)) {
    if (!runs[id] && (state === "idle" || last !== id)) found[id] = ended(run, messages);
  }
  return { ...found, ...runs };
}

/** The one that is at work or waits for a person. */
export function runInHand(runs: Runs, state: ChatState): Run | null {
  if (state === "idle") return null;
  return Object.values(runs).findLast(({ status }) => status === "running") ?? null;
}

function ended(run: Run, messages: readonly Message[]): Run {
  const note = messages.find(({ role, turn_id }) => role === "system" && turn_id === run.run_id);
  const error = text(loose(loose(note?.payload)["error"])["message"]) || null;
  if (error) return { ...run, status: "failed", error };
  return { ...run, status: note || run.step < run.of ? "stopped" : "completed" };
}
