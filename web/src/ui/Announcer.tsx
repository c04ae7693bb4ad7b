// What a screen reader hears: the boundaries of the work, never each word as it is streamed.
import { useEffect, useRef, useState } from "react";
import type { ChatView } from "../state/reduce";

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

export function boundary(before: ChatView, now: ChatView): string | null {
  if (now.role !== before.role) return `The role is now ${now.role}.`;
  if (now.approvals.length > before.approvals.length) {
    const [approval] = now.approvals.slice(-1);
    return `Approval needed: ${approval?.tool.replaceAll("_", " ")} ${approval?.resource}. ${now.approvals.length} waiting.`;
  }
  if (now.state === before.state) return null;
  switch (now.state) {
    case "running":
      return "The agent is working.";
    case "awaiting_approval":
      return "Waiting for your approval.";
    case "awaiting_answer":
      return "The agent has a question for you.";
    case "idle":
      return now.messages.at(-1)?.message_type === "plan" ? "A plan is ready." : "The agent has finished.";
    default: {
      const unreachable: never = now.state;
      return unreachable;
    }
  }
}
