// Editing a plan, as pure steps: move, drop, add, change. A step that is gone is nobody's dependency.
import type { PlanStep } from "../wire/nouns";

export type Edit =
  | { do: "move"; at: number; by: -1 | 1 }
  | { do: "drop"; at: number }
  | { do: "add" }
  | { do: "change"; at: number; change: Partial<PlanStep> };

export function edited(steps: readonly PlanStep[], edit: Edit): PlanStep[] {
  switch (edit.do) {
    case "move":
      return moved(steps, edit.at, edit.at + edit.by);
    case "drop":
      return dropped(steps, edit.at);
    case "add":
      return [...steps, blank(steps)];
    case "change":
      return steps.map((step, at) => (at === edit.at ? { ...step, ...edit.change } : step));
    default: {
      const unreachable: never = edit;
      return unreachable;
    }
  }
}

function moved(steps: readonly PlanStep[], from: number, to: number): PlanStep[] {
  const step = steps[from];
  if (!step || to < 0 || to >= steps.length) return [...steps];
  const rest = steps.toSpliced(from, 1);
  return rest.toSpliced(to, 0, step);
}

function dropped(steps: readonly PlanStep[], at: number): PlanStep[] {
  const gone = steps[at]?.id;
  return steps
    .toSpliced(at, 1)
    .map((step) => ({ ...step, dependencies: step.dependencies.filter((id) => id !== gone) }));
}

function blank(steps: readonly PlanStep[]): PlanStep {
  const taken = new Set(steps.map(({ id }) => id));
  let number = steps.length + 1;
  while (taken.has(String(number))) number += 1;
  return {
    id: String(number),
    action: "",
    reason: "",
    tools_needed: [],
    estimated_time: "",
    dependencies: [],
    paths: [],
    commands: [],
    check: null,
    expect: [],
  };
}
