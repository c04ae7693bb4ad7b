import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { useLive } from "../state/live";
import { expectAccessible, show } from "../testing/render";
import { allowedWords, type ComparedPlan, currentStep, type DoneCall, finishedSteps, type StepAudit } from "./audit";
import { Compared } from "./PlanAgainstActual";
import { Checklist } from "./PlanDock";

const done = (parts: Partial<DoneCall> = {}): DoneCall => ({
  call_id: "c1",
  tool: "create_file",
  resource: "hello.txt",
  status: "ok",
  error: null,
  paths: ["hello.txt"],
  exit_code: null,
  allowed_by: "plan:1",
  decided_by: null,
  at: "2026-01-02T03:04:05Z",
  seconds: 0.4,
  ...parts,
});

const step = (id: string, status: string, parts: Partial<StepAudit> = {}): StepAudit =>
  ({
    id,
    intended: { action: `Step ${id}`, paths: ["hello.txt"] },
    done: [],
    status,
    check: null,
    untouched: [],
    seconds: 0,
    ...parts,
  }) as StepAudit;

const PLAN: ComparedPlan = {
  message_id: "p",
  goal: "Greet the world",
  approved_by: "person:owner",
  turn_id: "t",
  status: "done",
  state: "answered",
  seconds: 12,
  budget: null,
  spent: { calls: 1, seconds: 12, tokens: 900, cost: null },
  evidence: null,
  steps: [
    step("1", "done", { done: [done()], check: { command: "grep -q hi hello.txt", ran: true, ok: true } }),
    step("2", "failed", { done: [done({ call_id: "c2", status: "error", error: "No such file." })] }),
    step("3", "skipped", { untouched: ["bye.txt"] }),
    step("4", "claimed"),
  ],
  unplanned: [done({ call_id: "c3", resource: "extra.txt", allowed_by: "approval:a1" })],
  also_read: 2,
};

it("says of a denied call what the person said, and not what the model is told", () => {
  const told = (said: string) =>
    `The person denied this call (create_file on /a).${said} Do not try it again; find another way or ask.`;
  const denied = (call_id: string, said: string) => done({ call_id, status: "denied", error: told(said) });
  const unplanned = [denied("d1", " They said: “not wanted”"), denied("d2", "")];
  const { container } = show(<Compared plan={{ ...PLAN, unplanned }} />);
  expect(screen.getByText("“not wanted”")).toBeTruthy();
  expect(container.textContent).not.toContain("Do not try it again");
});

it("stands what was meant beside what was done, and marks what was outside", async () => {
  const { container } = show(<Compared plan={PLAN} />);
  for (const words of [
    "Step 1",
    "No such file.",
    "Not changed: bye.txt",
    "Outside the plan",
    "2 more calls only read files.",
    "the agent says it is done",
    "grep -q hi hello.txt passed.",
    "you allowed it",
  ]) {
    expect(container.textContent).toContain(words);
  }
  await expectAccessible(container);
});

it("says that files were restored after the plan's work", () => {
  const { container, rerender } = show(<Checklist plan={PLAN} restored={false} onCompare={() => {}} />);
  expect(container.textContent).not.toContain("files restored");
  rerender(<Checklist plan={PLAN} restored onCompare={() => {}} />);
  expect(container.textContent).toContain("files restored");
});

it("names who allowed a call, where several people work", () => {
  const by = (decided_by: string | null, access: "member" | null) => {
    const unplanned = [done({ allowed_by: "approval:a1", decided_by })];
    const { container, unmount } = show(<Compared plan={{ ...PLAN, unplanned }} />, access);
    const words = container.textContent ?? "";
    unmount();
    return ["you allowed it", "Bob allowed it", "The owner allowed it"].filter((each) => words.includes(each));
  };
  expect([by(null, null), by("Bob", null), by("Ada", "member"), by("Bob", "member"), by(null, "member")]).toEqual([
    ["you allowed it"],
    ["Bob allowed it"],
    ["you allowed it"],
    ["Bob allowed it"],
    ["The owner allowed it"],
  ]);
});

it("does not say of a call that failed that it did something", () => {
  const { container } = show(<Compared plan={{ ...PLAN, steps: PLAN.steps.slice(1, 2), unplanned: [] }} />);
  expect(container.textContent).toContain("Create hello.txt");
  expect(container.textContent).not.toContain("Created");
});

it("says of a call that waits that it waits, not that it runs", () => {
  const open = { ...PLAN, steps: [step("1", "running", { done: [done({ status: "open" })] })], unplanned: [] };
  const view = { approvals: [{ id: "a1", tool_call_id: "c1" }], decided: {}, state: "awaiting_approval" };
  useLive.setState({ view: view as never });
  const waits = show(<Compared plan={open} />);
  expect(waits.container.textContent).toContain("waits for you");
  waits.unmount();
  useLive.setState({ view: { ...view, approvals: [], state: "running" } as never });
  expect(show(<Compared plan={open} />).container.textContent).toContain("running");
  useLive.setState({ view: null });
});

it("says how much of its budget was used", () => {
  const { container } = show(<Compared plan={{ ...PLAN, budget: { calls: 3, seconds: 600, cost: 2 } }} />);
  expect(container.textContent).toContain(
    "Budget: 1 of 3 changes and commands · 12 s of 10 min · an unknown part of $2",
  );
});

it("shows a status and a tool that it does not know by their own names", () => {
  show(
    <Compared
      plan={{ ...PLAN, steps: [step("1", "postponed", { done: [done({ tool: "their_tool", status: "odd" })] })] }}
    />,
  );
  expect(screen.getByText("postponed")).toBeTruthy();
  expect(screen.getByText("their_tool", { exact: false })).toBeTruthy();
});

it("says how far a plan is, and opens the comparison", async () => {
  const running = { ...PLAN, state: "running", steps: [step("1", "done"), step("2", "running"), step("3", "open")] };
  const onCompare = vi.fn();
  const { container } = show(<Checklist plan={running} restored={false} onCompare={onCompare} />);
  expect(screen.getByRole("button", { expanded: false }).textContent).toContain("1 of 3");
  expect(screen.getByRole("button", { expanded: false }).textContent).toContain("Step 2");
  await userEvent.click(screen.getByRole("button", { expanded: false }));
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Plan against actual" }));
  expect(onCompare).toHaveBeenCalledOnce();
});

it("counts what is done, and knows what comes next", () => {
  expect(finishedSteps(PLAN)).toBe(2);
  expect(currentStep(PLAN)).toBeNull();
  expect(currentStep({ ...PLAN, steps: [step("1", "done"), step("2", "open")] })?.id).toBe("2");
  expect(["approval:1", "rule:2", "default", null].map((by) => allowedWords(by))).toEqual([
    "you allowed it",
    "allowed by a rule",
    "allowed by default",
    "",
  ]);
});

it("says every status in plain words, and why a plan is blocked", () => {
  const steps = ["open", "running", "done", "claimed", "failed", "skipped"].map((status) => step(status, status));
  const { container } = show(<Compared plan={{ ...PLAN, status: "blocked", state: "blocked", steps }} />);
  for (const words of [
    "not done",
    "at work",
    "done",
    "the agent says it is done",
    "failed",
    "skipped",
    "the agent stopped while steps were open",
  ]) {
    expect(container.textContent).toContain(words);
  }
});

it("does not call a plan at work whose turn ended with another plan", () => {
  const { container } = show(<Compared plan={{ ...PLAN, state: "planned" }} />);
  expect(container.textContent).toContain("ended: the agent proposed another plan");
  expect(container.textContent).not.toContain("at work");
});
