// What a person approves: steps with their reasons, tools and files; risks; times. Edited here, executed exactly as approved.

import clsx from "clsx";
import { Clock, Gauge, GitCompareArrows, ListChecks, Network, Pencil, TriangleAlert, Zap } from "lucide-react";
import { type ReactNode, useState } from "react";
import { limited } from "../content/budgets";
import { Inline } from "../content/Inline";
import { visible } from "../content/visible";
import { useWording } from "../state/me";
import type { PlanState } from "../state/planStandings";
import { t as jobTexts } from "../texts/jobs";
import { t } from "../texts/messages";
import { t as people } from "../texts/people";
import { Button } from "../ui/Button";
import type { Disclosure, Message, Plan, PlanEdits } from "../wire/nouns";
import { PlanEditor } from "./PlanEditor";
import { PlanSteps } from "./PlanSteps";
import { Says } from "./Says";
import { Thinking } from "./Thinking";

interface Props {
  message: Message;
  plan: Plan;
  state: PlanState;
  /** Each step's status, once the plan was approved. */
  statuses?: Readonly<Record<string, string>> | undefined;
  thought: number | null;
  busy: boolean;
  disclosure?: Disclosure | null;
  onExecute: (edits: PlanEdits | null, run: "chat" | "job") => void;
  onRevise: () => void;
  onCompare: (() => void) | null;
}

export function PlanCard({
  message,
  plan,
  state,
  statuses,
  thought,
  busy,
  disclosure = null,
  onExecute,
  onRevise,
  onCompare,
}: Props) {
  const [editing, setEditing] = useState(false);
  const [shown, setShown] = useState(0);
  const unread = shown < plan.steps.length;
  const ofJob = message.job_id !== null; // a plan that was made for a job runs as that job
  return (
    <Says role={message.role === "user" ? null : message.agent_role} at={message.created_at}>
      {message.reasoning && <Thinking of={message.id} text={message.reasoning} took={thought} />}
      <div
        role="group"
        data-colour="blue"
        aria-label={t.plan}
        className={clsx(
          "overflow-clip rounded-2xl border bg-surface",
          state === "open" ? "border-role/30 shadow-sm" : "border-line",
          state === "superseded" && "opacity-70",
        )}
      >
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-role-soft/60 px-5 py-3">
          <ListChecks size={17} aria-hidden className="text-role" />
          <h2 className="font-semibold">{t.plan}</h2>
          <span className="text-sm text-ink-2">{t.steps(plan.steps.length)}</span>
          {plan.estimated_total_time && (
            <span className="inline-flex items-center gap-1 text-sm text-ink-2">
              <Clock size={13} aria-hidden /> {visible(plan.estimated_total_time)}
            </span>
          )}
          <Standing state={state} />
        </div>
        <div className="px-5 py-4">
          {plan.goal && (
            <p className="mb-3.5 font-medium break-words">
              <Inline text={plan.goal} />
            </p>
          )}
          {editing && state === "open" ? (
            <PlanEditor
              plan={plan}
              busy={busy}
              onCancel={() => setEditing(false)}
              onExecute={(edits) => onExecute(edits, ofJob ? "job" : "chat")}
            />
          ) : (
            <>
              <PlanSteps
                steps={plan.steps}
                disclosure={state === "open" ? disclosure : null} // it is of the plan that waits
                statuses={statuses}
                onShown={() => setShown((count) => count + 1)}
              />
              <Notes
                title={t.budget}
                notes={limited(plan.budget)}
                icon={<Gauge size={15} aria-hidden className="mt-0.5 shrink-0 text-role" />}
              />
              <Notes title={t.beforeItStarts} notes={plan.prerequisites} />
              <Notes
                title={t.risks}
                notes={plan.risks}
                icon={<TriangleAlert size={15} aria-hidden className="mt-0.5 shrink-0 text-warn" />}
              />
              {state === "open" && (
                <Actions
                  busy={busy}
                  unread={unread}
                  onExecute={ofJob ? null : () => onExecute(null, "chat")}
                  onJob={() => onExecute(null, "job")}
                  onEdit={() => setEditing(true)}
                  onRevise={onRevise}
                />
              )}
              {CARRIED_OUT.includes(state) && onCompare && (
                <Button
                  look="quiet"
                  className="mt-3 -ml-3"
                  icon={<GitCompareArrows size={15} aria-hidden />}
                  onClick={onCompare}
                >
                  {t.planAgainstActual}
                </Button>
              )}
            </>
          )}
        </div>
      </div>
    </Says>
  );
}

const CARRIED_OUT: readonly PlanState[] = ["approved", "done", "blocked"];

const STANDINGS: Record<PlanState, { words: string; className: string }> = {
  open: { words: t.waitsForYou, className: "bg-role-soft text-role" },
  approved: { words: t.approved, className: "bg-good-soft text-good" },
  done: { words: t.done, className: "bg-good-soft text-good" },
  blocked: { words: t.blockedStepsAreOpen, className: "bg-warn-soft text-warn" },
  superseded: { words: t.replacedByANewerPlan, className: "bg-sunken text-ink-2" },
};

function Standing({ state }: { state: PlanState }) {
  const { words: own, className } = STANDINGS[state];
  const words = useWording()(own, state === "open" ? people.readers.waits : own);
  return <span className={clsx("ml-auto rounded-full px-2.5 py-0.5 text-xs font-medium", className)}>{words}</span>;
}

function Notes({ title, notes, icon }: { title: string; notes: string[]; icon?: ReactNode }) {
  if (notes.length === 0) return null;
  return (
    <div className="mt-4 text-sm">
      <h3 className="mb-1 font-medium text-ink-2">{title}</h3>
      <ul className="space-y-1">
        {notes.map((note) => (
          <li key={note} className="flex gap-2 text-ink-2">
            {icon ?? <span aria-hidden>·</span>}
            <span className="min-w-0 break-words">
              <Inline text={note} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Actions({
  busy,
  unread,
  onExecute,
  onJob,
  onEdit,
  onRevise,
}: {
  busy: boolean;
  unread: boolean;
  onExecute: (() => void) | null;
  onJob: () => void;
  onEdit: () => void;
  onRevise: () => void;
}) {
  return (
    <div className="mt-5 flex flex-wrap items-center gap-2">
      {onExecute && (
        <Button
          look="primary"
          icon={<Zap size={15} aria-hidden />}
          disabled={busy || unread}
          aria-describedby={unread ? "plan-unread" : undefined}
          onClick={onExecute}
        >
          {t.executePlan}
        </Button>
      )}
      <Button
        look={onExecute ? "plain" : "primary"}
        icon={<Network size={15} aria-hidden />}
        disabled={busy || unread}
        title={jobTexts.runAsJobHint}
        aria-describedby={unread ? "plan-unread" : undefined}
        onClick={onJob}
      >
        {jobTexts.runAsJob}
      </Button>
      <Button icon={<Pencil size={14} aria-hidden />} disabled={busy} onClick={onEdit}>
        {t.edit}
      </Button>
      <Button look="quiet" disabled={busy} onClick={onRevise}>
        {t.askForChanges}
      </Button>
      {unread && (
        <p id="plan-unread" role="status" className="w-full text-sm text-warn">
          {t.scrollThroughEveryStepTo}
        </p>
      )}
      <p className="w-full text-xs text-ink-3">
        {onExecute ? t.executingSwitchesToActorFiles : t.runningNeedsNoApproval}
      </p>
    </div>
  );
}
