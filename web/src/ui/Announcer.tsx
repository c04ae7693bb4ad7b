// What a screen reader hears: the boundaries of the work, never each word as it is streamed.

import { useEffect, useRef, useState } from "react";
import { useWording, type Wording } from "../state/me";
import type { ChatView } from "../state/reduce";
import { t as checkpoints } from "../texts/checkpoints";
import { t as people } from "../texts/people";
import { t } from "../texts/ui";
import { type EndReason, loose } from "../wire/nouns";
import { retryWords } from "./modelRetry";

export function Announcer({ view }: { view: ChatView | null }) {
  const [words, setWords] = useState("");
  const wording = useWording();
  const before = useRef<ChatView | null>(null);
  useEffect(() => {
    const told =
      view && (before.current?.id === view.id ? boundary(before.current, view, wording) : waiting(view, wording));
    before.current = view;
    if (told) setWords(told);
  }, [view, wording]);
  return (
    <p aria-live="polite" className="sr-only">
      {words}
    </p>
  );
}

const ENDINGS: Partial<Record<EndReason, string>> = {
  planned: t.aPlanIsReady,
  interrupted: t.theAgentWasInterruptedYou,
  stopped: t.theAgentWasStopped,
  failed: t.theTurnEndedEarly,
  limit: t.theTurnStoppedAtA,
  blocked: t.thePlanIsBlockedSteps,
};

const ENDINGS_FOR_READERS: typeof ENDINGS = {
  ...ENDINGS,
  interrupted: people.readers.theAgentWasInterrupted,
  limit: people.readers.theTurnStoppedAtALimit,
  blocked: people.readers.thePlanIsBlocked,
};

export function boundary(before: ChatView, now: ChatView, wording: Wording): string | null {
  if (now.role !== before.role) return t.theRoleIsNow(now.role);
  if (now.approvals.length > before.approvals.length) return approvalNeeded(now);
  if (now.approvals.length > 0 && now.approvals.length < before.approvals.length)
    return t.stillWaiting(now.approvals.length);
  const run = now.state.startsWith("awaiting") ? null : runBoundary(before, now);
  if (run) return run;
  if (now.retry && !before.retry) return retryWords(now.retry, now.retry.seconds); // the first wait of a request only
  if (isRestored(before, now)) return checkpoints.theFilesAreAsThey;
  if (now.state === before.state) return null;
  switch (now.state) {
    case "running":
      return t.theAgentIsWorking;
    case "awaiting_approval":
      return wording(t.waitingForYourApproval, people.readers.waitingForApproval);
    case "awaiting_answer":
      return wording(t.theAgentHasAQuestion, people.readers.theAgentHasAQuestion);
    case "idle":
      return wording(ENDINGS, ENDINGS_FOR_READERS)[now.ending ?? "answered"] ?? t.theAgentHasFinished;
    default: {
      const unreachable: never = now.state;
      return unreachable;
    }
  }
}

function isRestored(before: ChatView, now: ChatView): boolean {
  const newest = now.messages.at(-1);
  return newest?.id !== before.messages.at(-1)?.id && Boolean(loose(newest?.payload)["restore"]);
}

/** What a chat waits for when it is opened: a quick model asks before its chat is on the page. */
function waiting(view: ChatView, wording: Wording): string | null {
  if (view.approvals.length > 0) return approvalNeeded(view);
  return view.state === "awaiting_answer" ? wording(t.theAgentHasAQuestion, people.readers.theAgentHasAQuestion) : null;
}

function approvalNeeded({ approvals }: ChatView): string {
  const [approval] = approvals.slice(-1);
  return t.approvalNeededWaiting(approval?.tool.replaceAll("_", " ") ?? "", approval?.resource ?? "", approvals.length);
}

/** A step's beginning, and the end of the run. */
function runBoundary(before: ChatView, now: ChatView): string | null {
  const run = Object.values(now.runs).find(({ run_id }) => now.runs[run_id] !== before.runs[run_id]);
  if (!run) return null;
  if (run.status === "running") return t.stepOf(run.name, run.step, run.of, run.title);
  return `${run.status === "completed" ? t.runFinished(run.name) : t.runEnded(run.name, run.status)} ${run.error ?? ""}`.trim();
}
