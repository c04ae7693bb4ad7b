// What the terminal lists: the commands of the agent and of the person, in the order of the chat. Pure.
import { subjectOf } from "../content/tools";
import type { ChatView } from "../state/reduce";
import { rowsOf } from "../state/rows";
import type { ToolDisplay } from "../state/tools";
import { readPersonCommand } from "../wire/nouns";
import { readToolCall } from "../wire/toolCalls";

export interface TerminalEntry {
  id: string;
  own: boolean;
  command: string;
  output: string;
  /** `none`: there is no record of its end. */
  status: "running" | "ok" | "failed" | "none";
  ended: string | null;
  exitCode: number | null;
  noUndo: string | null;
  /** A shell on a terminal: it has no command, and its output is not kept. */
  terminal: boolean;
}

/** Names of the tools that calls in this chat name: which of them run commands, the server tells. */
export function toolsIn(view: ChatView): string[] {
  const names = view.messages.map(({ message_type, payload }) =>
    message_type === "tool_call" ? (readToolCall(payload)?.tool ?? "") : "",
  );
  return [...new Set(names)].filter(Boolean);
}

/** The exit code stands beside the command already. */
const withoutCode = (output: string, code: unknown) =>
  output.endsWith(`exit code ${code}`) ? output.slice(0, -`exit code ${code}`.length).trimEnd() : output;

export function entriesOf(
  view: ChatView,
  displays: Readonly<Record<string, ToolDisplay>>,
  running: ReadonlySet<string>,
): TerminalEntry[] {
  return rowsOf(view.messages).flatMap((row): TerminalEntry[] => {
    if (row.kind === "work")
      return row.calls.flatMap(({ call, result, output }) => {
        if (displays[call.tool]?.kind !== "run") return [];
        const code = result?.facts["exit_code"];
        return [
          {
            id: call.id,
            own: false,
            command: subjectOf(call.parameters, displays[call.tool]!),
            output: result ? withoutCode(output, code) : (view.printed[call.id]?.text ?? ""),
            status: result ? (result.status === "ok" ? "ok" : "failed") : view.state === "idle" ? "none" : "running",
            ended: result ? result.status : null,
            exitCode: typeof code === "number" ? code : null,
            noUndo: null,
            terminal: false,
          },
        ];
      });
    const own = row.kind === "message" ? readPersonCommand(row.message) : null;
    if (!own) return [];
    const live = view.ownPrinted[own.id]?.text ?? "";
    const isRunning = running.has(own.id) || live !== "";
    return [
      {
        id: own.id,
        own: true,
        command: own.command,
        output: own.ended ? own.output : live,
        status: !own.ended ? (isRunning ? "running" : "none") : own.exitCode === 0 || own.terminal ? "ok" : "failed",
        ended: own.ended,
        exitCode: own.exitCode,
        noUndo: own.noUndo,
        terminal: own.terminal,
      },
    ];
  });
}

/** The person's earlier commands, newest first, each once: what the arrow keys bring back. */
export function earlierCommands(entries: readonly TerminalEntry[]): string[] {
  const own = entries.filter((entry) => entry.own && !entry.terminal).map(({ command }) => command);
  return [...new Set(own.reverse())];
}
