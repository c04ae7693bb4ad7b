// The switch from a message to its card, and nothing else. What this page does not know, or cannot read, is shown as text.
import { memo } from "react";
import type { PlanStanding } from "../state/planStandings";
import type { Saying } from "../state/rows";
import { isOrder, type Run, runOf } from "../state/runs";
import type { QuestionStanding } from "../state/standing";
import { ErrorBoundary } from "../ui/ErrorBoundary";
import {
  type Answer,
  type Disclosure,
  loose,
  type Message,
  type PlanEdits,
  readFault,
  readPersonCommand,
  readPlan,
  readQuestion,
  readReview,
  readToolResult,
  text,
} from "../wire/nouns";
import { ApprovedPlanCard } from "./ApprovedPlanCard";
import { CompactedCard, readCompacted } from "./CompactedCard";
import { ErrorCard } from "./ErrorCard";
import { LooseResultCard } from "./LooseResultCard";
import { NoteCard } from "./NoteCard";
import { PersonCommandCard } from "./PersonCommandCard";
import { PlanCard } from "./PlanCard";
import { QuestionCard } from "./QuestionCard";
import { ReviewCard } from "./ReviewCard";
import { RoleChangeCard } from "./RoleChangeCard";
import { OrderCard, StepCard } from "./RunCards";
import { TaskAssignmentCard } from "./TaskAssignmentCard";
import { TaskExecutionCard } from "./TaskExecutionCard";
import { TaskResultCard } from "./TaskResultCard";
import { TextCard } from "./TextCard";

interface CardProps {
  message: Message;
  thought: number | null;
  /** Set while the words still come. */
  saying?: Saying | undefined;
  plan: PlanStanding;
  question: QuestionStanding;
  /** What approving the plan that waits would grant. */
  disclosure?: Disclosure | null;
  /** How far the workflow is that this message belongs to. */
  run: Run | null;
  busy: boolean;
  /** What was pressed on it is on its way. */
  sending?: boolean;
  onExecute: (messageId: string, edits: PlanEdits | null, run: "chat" | "job") => void;
  onAnswer: (messageId: string, answer: Answer) => void;
  onRevise: () => void;
  onCompare: (() => void) | null;
}

/** A card that breaks on what it was given is shown as text too: one message never takes the chat with it. */
export const Card = memo(function Card(props: CardProps) {
  return (
    <ErrorBoundary fallback={<TextCard message={props.message} thought={props.thought} />}>
      <CardBody {...props} />
    </ErrorBoundary>
  );
});

function CardBody(props: CardProps) {
  const { message, thought, saying } = props;
  const plain = <TextCard message={message} thought={thought} saying={saying} />;
  switch (message.message_type) {
    case "plan": {
      const plan = props.plan.approved ?? readPlan(message.payload);
      if (!plan) return plain;
      return (
        <PlanCard
          {...props}
          disclosure={props.disclosure ?? null}
          plan={plan}
          state={props.plan.state}
          statuses={props.plan.steps}
          onExecute={(edits, run) => props.onExecute(message.id, edits, run)}
        />
      );
    }
    case "question": {
      const question = readQuestion(message.payload);
      if (!question) return plain;
      return (
        <QuestionCard
          message={message}
          question={question}
          standing={props.question}
          sending={props.sending ?? false}
          onAnswer={(answer) => props.onAnswer(message.id, answer)}
        />
      );
    }
    case "review": {
      const review = readReview(message.payload);
      return review ? <ReviewCard message={message} review={review} /> : plain;
    }
    case "tool_result": {
      const result = readToolResult(message.payload);
      return result ? <LooseResultCard message={message} result={result} /> : plain;
    }
    case "role_change":
      return <RoleChangeCard message={message} />;
    case "task_assignment":
      return <TaskAssignmentCard message={message} />;
    case "task_execution":
      return <TaskExecutionCard message={message} />;
    case "task_result":
      return <TaskResultCard message={message} />;
    case "text":
    case "tool_call": // a readable call stands in a WorkCard; this one is not
    default:
      return textual(props) ?? plain;
  }
}

const PAUSES = new Set(["too_many_steps", "out_of_time", "limit_reached", "steps_open", "context_full"]); // the turn can be continued: nothing went wrong

function textual({ message, run }: CardProps) {
  const payload = loose(message.payload);
  const then = message.role === "user" ? runOf(message) : null;
  if (then)
    return isOrder(message, then) ? (
      <OrderCard message={message} run={run ?? then} />
    ) : (
      <StepCard message={message} run={then} />
    );
  if (message.role === "user" && text(payload["plan_id"])) return <ApprovedPlanCard message={message} />;
  const fault = message.role === "system" ? readFault(payload["error"]) : null;
  if (fault && PAUSES.has(fault.code)) return <NoteCard message={message} />;
  if (fault) return <ErrorCard message={message} fault={fault} />;
  const own = readPersonCommand(message);
  if (own) return <PersonCommandCard message={message} own={own} />;
  const compacted = message.role === "system" ? readCompacted(message) : null;
  if (compacted !== null) return <CompactedCard message={message} count={compacted} />;
  return message.role === "system" ? <NoteCard message={message} /> : null;
}
