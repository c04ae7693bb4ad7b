// What a screen reader hears: the boundaries of the work, never each word as it is streamed.
import { useEffect, useRef, useState } from "react";
import type { ChatView } from "../state/reduce";
import type { EndReason } from "../wire/nouns";

export function Announcer({ view }: { view: ChatView | null }) {
  const [words, setWords] = useState("");
  const before = useRef<ChatView | null>(null);
  useEffect(() => {
    const told = view && before.current?.id === view.id ? boundary(before.current, view) : null;
    before.current = view;
    if (told) setWords(told);
  }, [view]);
  return (
    <p aria-live="polite" className="sr-only">
      {words}
    </p>
  );
}

const ENDINGS: Partial<Record<EndReason, string>> = {
  planned: "A plan is ready.",
  interrupted: "The agent was interrupted. You can continue.",
  stopped: "The agent was stopped.",
  failed: "The turn ended early.",
  limit: "The turn stopped at a limit. You can continue it.",
  blocked: "The plan is blocked: steps are open. You can continue.",
};

export function boundary(before: ChatView, now: ChatView): string | null {
  if (now.role !== before.role) return `The role is now ${now.role}.`;
  if (now.approvals.length > before.approvals.length) {
    const [approval] = now.approvals.slice(-1);
    return `Approval needed: ${approval?.tool.replaceAll("_", " ")} ${approval?.resource}. ${now.approvals.length} waiting.`;
  }
  const run = now.state.startsWith("awaiting") ? null : runBoundary(before, now);
  if (run) return run;
  if (now.state === before.state) return null;
  switch (now.state) {
    case "running":
      return "The agent is working.";
    case "awaiting_approval":
      return "Waiting for your approval.";
    case "awaiting_answer":
      return "The agent has a question for you.";
    case "idle":
      return ENDINGS[now.ending ?? "answered"] ?? "The agent has finished.";
    default: {
      const unreachable: never = now.state;
      return unreachable;
    }
  }
}

/** A step's beginning, and the end of the run. */
function runBoundary(before: ChatView, now: ChatView): string | null {
  const run = Object.values(now.runs).find(({ run_id }) => now.runs[run_id] !== before.runs[run_id]);
  if (!run) return null;
  if (run.status === "running") return `${run.name}: step ${run.step} of ${run.of}, ${run.title}.`;
  return `${run.name} ${run.status === "completed" ? "has finished" : `ended: ${run.status}`}. ${run.error ?? ""}`.trim();
}
