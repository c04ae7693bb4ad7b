// The terminal: output is inert, entries follow the record, the line recalls and stops.
import { fireEvent, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { type ChatView, opened, reduceAll, withEarlierOutput } from "../state/reduce";
import { event, message, show } from "../testing/render";
import { api } from "../wire/client";
import type { OpenChat } from "../wire/nouns";
import { CommandEntry } from "./CommandEntry";
import { CommandLine } from "./CommandLine";
import { earlierCommands, entriesOf } from "./entries";
import { printedText } from "./printedText";

const CHAT = {
  id: "chat",
  state: "idle",
  config: { agent_role: "actor" },
  waiting_for: { approvals: [], question: null, questions: [] },
} as unknown as OpenChat;
const RUN = { kind: "run", subject: ["command"], target: [], example: {} };

function own(id: string, command: string, end: object = {}) {
  return message({
    id: `${id}${"ended" in end}`,
    role: "system",
    payload: { person_command: { id, command, ...end } },
  });
}

function view(...messages: ReturnType<typeof message>[]): ChatView {
  return opened(CHAT, messages, [], 1);
}

describe("printed text", () => {
  it("loses every terminal escape, and shows what would hide or turn text", () => {
    expect(printedText("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007plain\u001b]8;;http://x\u001b\\link")).toBe(
      "red plainlink",
    );
    expect(printedText("a\u202eb\u0000")).toBe("a⟨U+202E⟩b⟨U+0000⟩");
    expect(printedText("\u001b[")).toBe("");
    expect(printedText(`${"\u001b".repeat(50_000)}end`)).not.toContain("\u001b");
  });

  it("keeps what a rewritten line leaves on the screen", () => {
    expect(printedText("10%\r50%\r100%\r\ndone\r\n")).toBe("100%\ndone\n");
    expect(printedText("abc\b\bd")).toBe("ad");
  });
});

describe("entries", () => {
  it("are the commands of the agent and of the person, in the chat's order, each once", () => {
    const shown = view(
      message({
        message_type: "tool_call",
        role: "assistant",
        payload: { id: "c", tool: "shell", parameters: { command: "ls" }, terminate: false },
      }),
      own("p", "git status"),
      own("p", "git status", { ended: "exited", exit_code: 1, output: "oops" }),
      own("q", "make"),
    );
    const entries = entriesOf(shown, { shell: RUN }, new Set());
    expect(entries.map(({ own, command, status, output }) => [own, command, status, output])).toEqual([
      [false, "ls", "none", ""],
      [true, "git status", "failed", "oops"],
      [true, "make", "none", ""],
    ]);
    expect(entriesOf(shown, { shell: RUN }, new Set(["q"])).at(-1)?.status).toBe("running");
    expect(earlierCommands(entries)).toEqual(["make", "git status"]);
  });

  it("name a shell as one that ended, whose output is not kept and which no key brings back", () => {
    const shell = own("p", "terminal", { ended: "stopped", exit_code: null, output: "", terminal: true });
    const entries = entriesOf(view(shell), {}, new Set());
    show(<CommandEntry entry={entries[0]!} />);
    expect(screen.getByRole("article").textContent).toBe(
      "YouShellendedWhat a shell prints is not recorded, what it changed is.",
    );
    expect(earlierCommands(entries)).toEqual([]);
  });

  it("of the agent say the exit code once", () => {
    const call = { id: "c", tool: "shell", parameters: { command: "wc -l a" }, terminate: false };
    const result = { tool_call_id: "c", tool: "shell", status: "ok", facts: { exit_code: 0 } };
    const [entry] = entriesOf(
      view(
        message({ message_type: "tool_call", role: "assistant", payload: call }),
        message({ id: "m2", message_type: "tool_result", role: "tool", payload: result, content: "4 a\nexit code 0" }),
      ),
      { shell: RUN },
      new Set(),
    );
    expect([entry?.output, entry?.exitCode]).toEqual(["4 a", 0]);
  });

  it("show what a command prints while it runs, whatever ended meanwhile, until its end is on record", () => {
    const delta = (seq: number, offset: number, text: string) =>
      event("text-delta", seq, { call_id: "p", message_id: "m", offset, text, turn_id: null } as never);
    const running = reduceAll(view(own("p", "make")), [
      delta(2, 0, "one "),
      event("turn-ended", 3),
      delta(4, 4, "two"),
    ]);
    expect(entriesOf(running, {}, new Set())[0]).toMatchObject({ status: "running", output: "one two" });
    const late = reduceAll(view(own("p", "make")), [delta(2, 4, "two")]);
    expect(withEarlierOutput(late, "p", "one t").ownPrinted["p"]).toEqual({ text: "one two", length: 7 });
    expect(withEarlierOutput(running, "p", "one").ownPrinted["p"]?.text).toBe("one two");
    const end = event("message", 5, { message: own("p", "make", { ended: "exited", exit_code: 0, output: "all" }) });
    expect(entriesOf(reduceAll(running, [end]), {}, new Set())[0]).toMatchObject({ status: "ok", output: "all" });
  });
});

describe("the command line", () => {
  it("brings earlier commands back, and what was typed before", () => {
    show(<CommandLine chatId="c" reason={null} running={null} earlier={["make", "ls"]} onStop={() => {}} />);
    const field = screen.getByLabelText<HTMLInputElement>("Your command");
    fireEvent.change(field, { target: { value: "half" } });
    for (const [key, value] of [
      ["ArrowUp", "make"],
      ["ArrowUp", "ls"],
      ["ArrowUp", "ls"],
      ["ArrowDown", "make"],
      ["ArrowDown", "half"],
    ] as const) {
      fireEvent.keyDown(field, { key });
      expect(field.value).toBe(value);
    }
  });

  it("says below the line why a command was not run, and keeps it", async () => {
    vi.spyOn(api, "POST").mockResolvedValue({
      error: { error: { code: "conflict", message: "Another command runs.", param: null } },
      response: new Response(null, { status: 409 }),
    } as never);
    show(<CommandLine chatId="c" reason={null} running={null} earlier={[]} onStop={() => {}} />);
    const field = screen.getByLabelText<HTMLInputElement>("Your command");
    fireEvent.change(field, { target: { value: "make" } });
    fireEvent.submit(field);
    expect((await screen.findByRole("alert")).textContent).toBe("Another command runs.");
    expect(field.value).toBe("make");
    vi.restoreAllMocks();
  });

  it("stops the running command with its key, and says why where none may be run", () => {
    const onStop = vi.fn();
    const { unmount } = show(<CommandLine chatId="c" reason={null} running="make" earlier={[]} onStop={onStop} />);
    fireEvent.keyDown(screen.getByLabelText("Your command"), { key: "c", ctrlKey: true });
    expect(onStop).toHaveBeenCalledOnce();
    unmount();
    show(<CommandLine chatId="c" reason="Switched off." running={null} earlier={[]} onStop={onStop} />);
    expect(screen.queryByLabelText("Your command")).toBeNull();
    expect(screen.getByText("Switched off.")).toBeTruthy();
  });
});
