// The steps of a plan with all that each of them grants: every command, check, path and tool, whole and escaped. Nothing here is cut.

import { Bot, Clock, Server, TriangleAlert } from "lucide-react";
import { useMemo, useRef } from "react";
import { GrantedText } from "../approvals/DisclosedList";
import { Inline } from "../content/Inline";
import { PathLink } from "../content/PathLink";
import { toolName, usePlannedUses } from "../content/tools";
import { type VisibleText, visible } from "../content/visible";
import { StepMark } from "../plans/StepMark";
import { plannedCallWords } from "../rules/words";
import { useLive } from "../state/live";
import { t } from "../texts/messages";
import { SeenMark } from "../ui/SeenMark";
import { type DisclosedItem, type Disclosure, type PlanStep, readPlan } from "../wire/nouns";

interface Props {
  steps: readonly PlanStep[];
  disclosure?: Disclosure | null;
  /** Each step's status, once the plan was approved. */
  statuses?: Readonly<Record<string, string>> | undefined;
  /** Called once for each step, when all of it has been in view. */
  onShown?: () => void;
}

export function PlanSteps({ steps, disclosure = null, statuses, onShown = () => {} }: Props) {
  const numbers = new Map(steps.map(({ id }, at) => [id, at + 1]));
  const granted = grantsByStep(disclosure);
  return (
    <ol className="space-y-3">
      {steps.map((step, at) => (
        <Step
          key={at} // an unusable plan may have one id twice
          step={step}
          at={at}
          numbers={numbers}
          status={statuses ? (statuses[step.id] ?? "open") : null}
          grants={granted?.[at] ?? grantsOf(step)}
          onShown={onShown}
        />
      ))}
    </ol>
  );
}

interface StepProps {
  step: PlanStep;
  at: number;
  numbers: ReadonlyMap<string, number>;
  status: string | null;
  grants: readonly DisclosedItem[];
  onShown: () => void;
}

function Step({ step, at, numbers, status, grants, onShown }: StepProps) {
  const ends = useRef({ top: false, bottom: false });
  const see = (end: "top" | "bottom") => {
    if (ends.current[end]) return;
    ends.current[end] = true;
    if (ends.current.top && ends.current.bottom) onShown();
  };
  const earlier = useEarlierTasks(step.builds_on ?? NONE);
  const after = [
    ...earlier.map((name) => t.earlierTask(visible(name))),
    ...step.dependencies.map((id) => numbers.get(id) ?? visible(id)),
  ];
  const does = step.agent ?? step.role;
  const needs = step.needs ?? [];
  return (
    <li className="flex gap-3">
      <span
        aria-hidden
        className="mt-px inline-flex size-6 shrink-0 items-center justify-center rounded-full bg-role-soft text-xs font-semibold text-role tabular-nums"
      >
        {at + 1}
      </span>
      <div className="min-w-0 flex-1">
        <SeenMark onSeen={() => see("top")} />
        <div className="flex items-start justify-between gap-3">
          <p className="min-w-0 break-words">
            <Inline text={step.action} />
          </p>
          {status && (
            <span className="mt-0.5 shrink-0">
              <StepMark status={status} />
            </span>
          )}
        </div>
        {step.reason && (
          <p className="text-sm break-words text-ink-2">
            <Inline text={step.reason} />
          </p>
        )}
        <Grants grants={grants} />
        {step.expect.length > 0 && (
          <ul aria-label={t.expected} className="mt-1.5 space-y-0.5 text-xs text-ink-3">
            {step.expect.map((line) => (
              <li key={line} className="flex gap-1.5">
                {t.expected} <GrantedText text={visible(line)} className="!text-[12px] text-ink-2" />
              </li>
            ))}
          </ul>
        )}
        {(step.estimated_time || does || needs.length > 0 || after.length > 0) && (
          <p className="mt-1.5 flex flex-wrap items-center gap-x-3 text-xs text-ink-3">
            {does && (
              <span className="inline-flex items-center gap-1">
                <Bot size={12} aria-hidden /> {step.agent ? t.doneBy(visible(does)) : t.doneInRole(visible(does))}
              </span>
            )}
            {needs.length > 0 && (
              <span className="inline-flex items-center gap-1">
                <Server size={12} aria-hidden /> {t.onWorkerWith(needs.map(visible).join(", "))}
              </span>
            )}
            {step.estimated_time && (
              <span className="inline-flex items-center gap-1">
                <Clock size={12} aria-hidden /> {visible(step.estimated_time)}
              </span>
            )}
            {after.length > 0 && <span>{t.after(after.join(", "))}</span>}
          </p>
        )}
        <SeenMark onSeen={() => see("bottom")} />
      </div>
    </li>
  );
}

const NONE: readonly string[] = [];

/** What the tasks of earlier plans of the chat do; an id where no plan with it is loaded. */
function useEarlierTasks(ids: readonly string[]): readonly string[] {
  const messages = useLive((live) => (ids.length > 0 ? live.view?.messages : undefined));
  return useMemo(() => {
    const plans = (messages ?? []).filter(({ message_type }) => message_type === "plan");
    const steps = plans.flatMap(({ payload }) => readPlan(payload)?.steps ?? []);
    return ids.map((id) => steps.find((step) => step.id === id)?.action ?? id);
  }, [messages, ids]);
}

const NAMES: Partial<Record<DisclosedItem["kind"], string>> = {
  tool: t.withTool,
  path: t.mayChange,
  command: t.mayRun,
  check: t.provedBy,
  call: t.mayCall,
};

const CHIP =
  "inline-flex max-w-full min-w-0 items-center gap-1 rounded-md border border-line bg-sunken px-1.5 py-0.5 text-ink-2";

function Grants({ grants }: { grants: readonly DisclosedItem[] }) {
  const tools = grants.filter(({ kind }) => kind === "tool").map(({ text }) => text);
  const purposeOf = usePlannedUses(tools);
  const onlyReads = tools.length > 0 && tools.every((tool) => purposeOf(tool).onlyReads);
  const kinds = ["path", "command", "check", "call", "tool"] as const;
  const lines = kinds
    .map((kind) => ({ kind, items: grants.filter((item) => item.kind === kind) }))
    .filter(({ items }) => items.length > 0);
  if (lines.length === 0) return null;
  return (
    <dl className="mt-1.5 grid grid-cols-[minmax(4.75rem,auto)_minmax(0,1fr)] gap-x-2.5 gap-y-1 text-xs text-ink-3">
      {lines.map(({ kind, items }) => (
        <div key={kind} className="contents">
          <dt className="py-0.5">{kind === "path" && onlyReads ? t.looksAt : NAMES[kind]}</dt>
          <dd className="flex min-w-0 flex-wrap gap-1">
            {kind === "tool" && <ToolChips tools={tools} labelOf={(tool) => purposeOf(tool).label} />}
            {(kind === "tool" ? [] : items).map((item, at) => (
              <span key={at} className={CHIP}>
                {item.control && <TriangleAlert size={12} aria-label={t.controlFile} className="shrink-0 text-warn" />}
                {kind === "path" ? (
                  <PathLink path={item.text}>
                    <GrantedText text={item.text as VisibleText} className="!text-[12px]" />
                  </PathLink>
                ) : (
                  <GrantedText text={item.text as VisibleText} className="!text-[12px]" />
                )}
              </span>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Each thing that the tools do, once, with their names behind it; a name that says it itself stands as it is. */
function ToolChips({ tools, labelOf }: { tools: readonly string[]; labelOf: (tool: string) => string }) {
  return [...new Set(tools.map(labelOf))].map((label) => {
    const named = tools.filter((tool) => labelOf(tool) === label);
    return (
      <span key={label} className={CHIP} title={named.join(", ")}>
        {label === toolName(named[0] ?? "") ? (
          <GrantedText text={label as VisibleText} className="!text-[12px]" />
        ) : (
          label
        )}
      </span>
    );
  });
}

/** What the server lists for each step; null while it is not there, or not all of it. */
function grantsByStep(disclosure: Disclosure | null): DisclosedItem[][] | null {
  if (!disclosure || disclosure.items.length < disclosure.total) return null;
  const found: DisclosedItem[][] = [];
  for (const item of disclosure.items) {
    if (item.kind === "step") found.push([]);
    else if (item.kind !== "budget") found.at(-1)?.push(item);
  }
  return found;
}

/** The same, from the plan itself: of one that waits no more, and until the list is there. */
function grantsOf({ paths, commands, check, tools_needed, calls = [] }: PlanStep): DisclosedItem[] {
  const named = (kind: DisclosedItem["kind"], words: readonly string[]) =>
    words.map((word) => ({ kind, text: visible(word), detail: "", step: "", control: false }));
  return [
    ...named("path", paths),
    ...named("command", commands),
    ...named("check", check ? [check] : []),
    ...named("call", calls.map(plannedCallWords)),
    ...named("tool", tools_needed),
  ];
}
