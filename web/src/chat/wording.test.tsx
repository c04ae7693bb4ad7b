// What waits, waits for those who may decide it. Who may only read is told that it waits, never that it waits for them.
import { useQueryClient } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { useCommands } from "../commands";
import { StatusMark } from "../content/StatusMark";
import { JobChanges } from "../jobs/JobChanges";
import { JobStatusMark } from "../jobs/JobStatusMark";
import { JOBS } from "../jobs/jobs";
import { PlanCard } from "../messages/PlanCard";
import { ToolCallCard } from "../messages/ToolCallCard";
import { ToolResultCard } from "../messages/ToolResultCard";
import { StepMark } from "../plans/StepMark";
import { type AccessLevel, wordingFor } from "../state/me";
import { wordsFor } from "../state/notices";
import { type ChatView, opened, reduceAll } from "../state/reduce";
import type { Run } from "../state/runs";
import { CHATS } from "../state/sidebar";
import { event, message, show } from "../testing/render";
import { boundary } from "../ui/Announcer";
import { Folds } from "../ui/Fold";
import { SidebarButton, SidebarHidden } from "../ui/SidebarButton";
import { type OpenChat, readPlan, readToolResult } from "../wire/nouns";
import { RunLine } from "../workflows/RunLine";
import { QueuedMessages } from "./QueuedMessages";
import { Sidebar } from "./Sidebar";
import { StateMark } from "./StateMark";

const ADDRESSED = /\byou\b|\byour\b/i;
const nothing = () => {};

/** Every word of it that can be seen or heard: texts, tooltips, names. */
function wordsOf(node: React.ReactNode, access: AccessLevel): string {
  const { container, unmount } = show(node, access);
  const words = [...container.querySelectorAll("*")].flatMap((one) => [
    ...[...one.childNodes].filter((node) => node instanceof Text).map((node) => node.textContent),
    one.getAttribute("title"),
    one.getAttribute("aria-label"),
  ]);
  unmount();
  return words.filter(Boolean).join("\n");
}

/** With chats that wait. */
function Waiting({ children, count = 1 }: { children: React.ReactNode; count?: number }) {
  const chats = Array.from({ length: count }, (_, at) => ({
    id: `c${at}`,
    title: `Chat ${at}`,
    state: "awaiting_approval",
    waiting: "approval",
    last_seq: 0,
    updated_at: "2026-01-02T03:04:05Z",
    config: { agent_role: "actor" },
  }));
  const queries = useQueryClient();
  queries.setQueryData([...CHATS, "waiting", ""], { contexts: chats });
  queries.setQueryData([...CHATS, "pinned", ""], { contexts: [] });
  queries.setQueryData([...CHATS, "listed", "", false], { pages: [{ contexts: [], next: null }], pageParams: [null] });
  return children;
}

function Diff({ candidates = [] }: { candidates?: object[] }) {
  const diff = { files: [], conflicts: [], candidates, diff: "", truncated: false };
  useQueryClient().setQueryData([...JOBS, "j", "diff"], diff);
  return <JobChanges job={{ id: "j" } as never} act={nothing} />;
}

function Offered() {
  const commands = useCommands({ sought: "", onWaiting: nothing, onShortcuts: nothing, onSidebar: nothing });
  return commands.map(({ id, words }) => <p key={id}>{words}</p>);
}

const RUN: Run = { run_id: "r", name: "n", step: 1, of: 2, status: "running", title: "", error: null };
const call = (result: object | null) => ({
  message: message({ message_type: "tool_call" }),
  call: { id: "c", tool: "update_file", parameters: { path: "a.md", content: "x" } },
  result: result ? readToolResult(result) : null,
  resultId: null,
  output: "",
  seconds: null,
});
const PLAN = readPlan({ goal: "Greet", steps: [{ id: "1", action: "Say hello" }] })!;

const SHOWN: Record<string, React.ReactNode> = {
  "a call's mark": <StatusMark status={null} standing="waiting" />,
  "a call that is open": (
    <Folds.Provider value={new Map([["call c", true]])}>
      <ToolCallCard done={call(null)} standing="waiting" />
    </Folds.Provider>
  ),
  "a job that waits for approval": <JobStatusMark status="awaiting_approval" />,
  "a job that waits for review": <JobStatusMark status="awaiting_commit" />,
  "a job whose task asks": <JobStatusMark status="waiting" />,
  "a plan's badge": (
    <PlanCard
      message={message({ agent_role: "planner" })}
      plan={PLAN}
      state="open"
      thought={null}
      busy={false}
      onExecute={nothing}
      onRevise={nothing}
      onCompare={null}
    />
  ),
  "a workflow's line": <RunLine run={RUN} waits />,
  "the sidebar's heading": (
    <Waiting>
      <Sidebar current={null} onLeave={nothing} onPalette={nothing} />
    </Waiting>
  ),
  "the sidebar's button": (
    <Waiting>
      <SidebarHidden.Provider value>
        <SidebarButton onClick={nothing} />
      </SidebarHidden.Provider>
    </Waiting>
  ),
  "the sidebar's button for several": (
    <Waiting count={2}>
      <SidebarHidden.Provider value>
        <SidebarButton onClick={nothing} />
      </SidebarHidden.Provider>
    </Waiting>
  ),
  "a chat that waits for approval": <StateMark state="awaiting_approval" />,
  "a chat that waits for an answer": <StateMark state="awaiting_answer" />,
  "a chat with a plan": <StateMark state="idle" waiting="plan" />,
  "a chat that stopped": <StateMark state="idle" waiting="continue" />,
  "the command to the next chat": (
    <Waiting>
      <Offered />
    </Waiting>
  ),
};

it.each(Object.keys(SHOWN))("addresses a member, and no viewer: %s", (name) => {
  expect(wordsOf(SHOWN[name], "member")).toMatch(ADDRESSED);
  const read = wordsOf(SHOWN[name], "viewer").replace(/Signed in as .*/g, "");
  expect(read).not.toMatch(ADDRESSED);
  expect(read.trim()).not.toBe("");
});

it("addresses no viewer in what never was addressed to one person", () => {
  const held = [{ id: "q", content: "go on", steer: false, created_at: "" }];
  const queue = (
    <QueuedMessages queue={held} idle onChange={() => Promise.resolve(true)} onRemove={nothing} onSendNow={nothing} />
  );
  const denied = { status: "denied", error: { code: "denied_by_user", message: "Denied." }, facts: {} };
  for (const node of [queue, <ToolResultCard result={readToolResult(denied)!} output="" />])
    expect(wordsOf(node, "viewer")).not.toMatch(ADDRESSED);
});

it.each([
  ["changes", []],
  ["candidates", [{ agent: "a", status: "completed", task_ids: [], files: [], conflicts: [], diff: "" }]],
])("asks no viewer to keep or drop a job's %s", (_, candidates) => {
  expect(wordsOf(<Diff candidates={candidates} />, "member")).toMatch(/keep/i);
  expect(wordsOf(<Diff candidates={candidates} />, "viewer")).not.toMatch(/keep|drop|\byour\b/i);
});

const OWN = wordingFor({ may: () => true });
const READERS = wordingFor({ may: () => false });
const VIEW = opened(
  {
    id: "chat",
    state: "running",
    config: { agent_role: "actor" },
    waiting_for: { approvals: [], question: null, questions: [] },
  } as unknown as OpenChat,
  [],
  [],
  0,
);
const ended = (reason: string) => reduceAll(VIEW, [event("turn-ended", 9, { reason, state: "idle" })]);
const in_state = (state: string) => ({ ...VIEW, state }) as ChatView;

it.each([
  ["awaiting_approval", in_state("awaiting_approval")],
  ["awaiting_answer", in_state("awaiting_answer")],
  ["interrupted", ended("interrupted")],
  ["limit", ended("limit")],
  ["blocked", ended("blocked")],
])("is read out to a viewer as nothing to do: %s", (_, now) => {
  expect(boundary(VIEW, now, OWN)).toMatch(ADDRESSED);
  const read = boundary(VIEW, now, READERS);
  expect(read).toBeTruthy();
  expect(read).not.toMatch(ADDRESSED);
});

it.each([
  event("question", 1, { question: {} }),
  ...["planned", "limit", "interrupted", "blocked"].map((reason) => event("turn-ended", 1, { reason })),
])("notifies a viewer of nothing to do: %o", (told) => {
  expect(wordsFor(told, OWN)).toMatch(ADDRESSED);
  const read = wordsFor(told, READERS);
  expect(read).toBeTruthy();
  expect(read).not.toMatch(ADDRESSED);
});

// Cards and notifications that only those see who decide.
const DECIDERS_ONLY = ["../approvals/ApprovalDock.tsx", "../approvals/ApprovalItem.tsx", "../notifications/message.ts"];
const WAITS = /\b(for|to) you\b|\byour (approval|answer|decision|review)\b|you can continue/i;

it("uses every text that something waits for you only where it is known who reads it", () => {
  const texts = import.meta.glob<{ en: object }>(["../texts/*.ts", "!../texts/*.test.ts"], { eager: true });
  const sources = import.meta.glob<string>(["../**/*.ts", "../**/*.tsx", "!../**/*.test.*", "!../texts/**"], {
    eager: true,
    query: "?raw",
    import: "default",
  });
  const wrong: string[] = [];
  let found = 0;
  for (const [file, { en }] of Object.entries(texts)) {
    const area = file.replace(/^.*\/(.*)\.ts$/, "$1");
    for (const [key, words] of Object.entries(en ?? {})) {
      const said = typeof words === "function" ? String(words) : typeof words === "string" ? words : "";
      if (!WAITS.test(said) || /stored for you alone/.test(said)) continue;
      found += 1;
      for (const [path, source] of Object.entries(sources)) {
        if (DECIDERS_ONLY.includes(path) || !source.includes(`texts/${area}"`)) continue;
        if (new RegExp(`\\.${key}\\b`).test(source) && !/[wW]ording/.test(source)) wrong.push(`${path}: ${key}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(found).toBeGreaterThan(15);
});

it("has one sign for what waits for a person, and one for what is done, wherever it stands", () => {
  const run: Run = { run_id: "r", name: "audit", step: 1, of: 2, status: "running", title: "", error: null };
  const signs = (...nodes: React.ReactNode[]) =>
    new Set(
      nodes.map((node) => {
        const { container, unmount } = show(node);
        const sign = container.querySelector("svg")!.innerHTML;
        unmount();
        return sign;
      }),
    );
  const waits = [
    <StateMark key="chat" state="awaiting_approval" />,
    <StatusMark key="call" status={null} standing="waiting" />,
    <RunLine key="run" run={run} waits />,
    ...["awaiting_approval", "awaiting_commit", "waiting"].map((status) => (
      <JobStatusMark key={status} status={status} />
    )),
  ];
  const done = [
    <StatusMark key="call" status="ok" standing="running" />,
    <RunLine key="run" run={{ ...run, status: "completed" }} />,
    <JobStatusMark key="job" status="completed" />,
    <StepMark key="step" status="done" />,
  ];
  expect(signs(...waits).size).toBe(1);
  expect(signs(...done).size).toBe(1);
  expect(signs(...waits, ...done).size).toBe(2);
  expect(signs(<StepMark status="claimed" />)).not.toEqual(signs(...done));
});
