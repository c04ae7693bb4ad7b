// Where a plan or a question stands, read from the view: from its events where they were seen, else from the messages around it.
import { type Plan, loose, text } from "../wire/nouns";
import type { ChatView, PlanState } from "./reduce";

export function planStanding(view: ChatView, messageId: string): { state: PlanState; approved: Plan | null } {
  const told = view.plans[messageId];
  if (told) return told;
  if (view.messages.some(({ payload }) => text(loose(payload)["plan_id"]) === messageId)) return { state: "approved", approved: null };
  const newest = view.messages.findLast(({ message_type }) => message_type === "plan");
  return { state: newest && newest.id !== messageId ? "superseded" : "open", approved: null };
}

export type QuestionStanding = { state: "open" | "withdrawn" } | { state: "answered"; answer: string };

export function questionStanding(view: ChatView, messageId: string): QuestionStanding {
  const answer = view.messages.find(({ payload }) => text(loose(payload)["question_id"]) === messageId);
  if (answer) return { state: "answered", answer: answer.content };
  return { state: view.question === messageId ? "open" : "withdrawn" };
}

