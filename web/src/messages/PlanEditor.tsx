import { ArrowDown, ArrowUp, Plus, Trash2, Zap } from "lucide-react";
import { useState } from "react";
import { GrantedText } from "../approvals/DisclosedList";
import { Button, IconButton } from "../ui/Button";
import { SeenMark } from "../ui/SeenMark";
import type { Budget, Plan, PlanEdits, PlanStep } from "../wire/nouns";
import { BudgetFields } from "./BudgetFields";
import { type Edit, edited } from "./planEdits";
import { visible } from "./visible";

interface Props {
  plan: Plan;
  busy: boolean;
  onCancel: () => void;
  onExecute: (edits: PlanEdits) => void;
}

export function PlanEditor({ plan, busy, onCancel, onExecute }: Props) {
  const [steps, setSteps] = useState<PlanStep[]>(plan.steps);
  const [budget, setBudget] = useState<Budget>(plan.budget);
  const edit = (wish: Edit) => setSteps((now) => edited(now, wish));
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const unread = plan.steps.some(({ id }) => !seen.has(id) && steps.some((step) => step.id === id));
  const ready = steps.length > 0 && steps.every(({ action }) => action.trim());
  return (
    <div>
      <ol className="space-y-3">
        {steps.map((step, at) => (
          <StepFields
            key={step.id}
            step={step}
            at={at}
            last={steps.length - 1}
            edit={edit}
            onSeen={() => setSeen((now) => new Set([...now, step.id]))}
          />
        ))}
      </ol>
      <Button look="quiet" className="mt-3" icon={<Plus size={15} aria-hidden />} onClick={() => edit({ do: "add" })}>
        Add a step
      </Button>
      <BudgetFields budget={budget} onChange={setBudget} />
      {/* stays in view however long the plan is */}
      <footer className="sticky bottom-0 mt-4 flex flex-wrap items-center gap-2 border-t border-line bg-surface py-3">
        <span data-colour="green">
          <Button
            look="role"
            icon={<Zap size={15} aria-hidden />}
            disabled={busy || !ready || unread}
            onClick={() => onExecute({ steps, budget })}
          >
            Execute edited plan
          </Button>
        </span>
        <Button onClick={onCancel}>Back to the plan</Button>
        {unread && (
          <p role="status" className="text-sm text-warn">
            Scroll through every step first.
          </p>
        )}
        {!ready && <p className="text-sm text-ink-3">Every step needs words.</p>}
      </footer>
    </div>
  );
}

interface StepProps {
  step: PlanStep;
  at: number;
  last: number;
  edit: (wish: Edit) => void;
  onSeen: () => void;
}

const FIELD = "w-full rounded-lg border border-line-strong/70 bg-paper px-3 py-1.5 placeholder:text-ink-3";

function StepFields({ step, at, last, edit, onSeen }: StepProps) {
  const change = (part: Partial<PlanStep>) => edit({ do: "change", at, change: part });
  const name = `step ${at + 1}`;
  return (
    <li className="flex gap-2">
      <div className="flex flex-col">
        <IconButton
          label={`Move ${name} up`}
          disabled={at === 0}
          onClick={() => edit({ do: "move", at, by: -1 })}
          className="!size-7"
        >
          <ArrowUp size={15} aria-hidden />
        </IconButton>
        <IconButton
          label={`Move ${name} down`}
          disabled={at === last}
          onClick={() => edit({ do: "move", at, by: 1 })}
          className="!size-7"
        >
          <ArrowDown size={15} aria-hidden />
        </IconButton>
      </div>
      <div className="min-w-0 flex-1 space-y-1.5">
        <textarea
          rows={1}
          aria-label={`What to do in ${name}`}
          placeholder="What should be done?"
          value={step.action}
          onChange={({ target }) => change({ action: target.value })}
          className={`${FIELD} block resize-none text-sm`}
        />
        <div className="flex flex-col gap-1.5 sm:flex-row">
          <WordsField
            label={`Files of ${name}`}
            placeholder="Files it may touch, with commas"
            words={step.paths}
            onChange={(paths) => change({ paths })}
          />
          <WordsField
            label={`Tools of ${name}`}
            placeholder="Tools it may use, with commas"
            words={step.tools_needed}
            onChange={(tools_needed) => change({ tools_needed })}
          />
        </div>
        <WordsField
          label={`Command of ${name}`}
          placeholder="Commands it may run, one a line"
          words={step.commands}
          separator={"\n"}
          onChange={(commands) => change({ commands })}
        />
        <WordsField
          label={`Check of ${name}`}
          placeholder="Command that proves it"
          words={step.check ? [step.check] : []}
          separator={null}
          onChange={([check]) => change({ check: check ?? null })}
        />
        <SeenMark onSeen={onSeen} />
      </div>
      <IconButton
        label={`Drop ${name}`}
        disabled={last === 0}
        onClick={() => edit({ do: "drop", at })}
        className="!size-7 hover:!text-bad"
      >
        <Trash2 size={15} aria-hidden />
      </IconButton>
    </li>
  );
}

interface WordsProps {
  label: string;
  placeholder: string;
  words: string[];
  /** Null: it is one word, whatever is in it. */
  separator?: string | null;
  onChange: (words: string[]) => void;
}

function WordsField({ label, placeholder, words, separator = ",", onChange }: WordsProps) {
  const [text, setText] = useState(words.join(separator === "," ? ", " : (separator ?? "")));
  const read = (value: string) =>
    (separator === null ? [value] : value.split(separator)).map((word) => word.trim()).filter(Boolean);
  return (
    <div className="w-full min-w-0">
      <textarea
        rows={1}
        aria-label={label}
        placeholder={placeholder}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          onChange(read(target.value));
        }}
        className={`${FIELD} block resize-none font-mono text-xs break-all [field-sizing:content]`}
      />
      {visible(text) !== text && (
        <p className="mt-0.5 text-xs text-warn">
          It holds hidden characters: <GrantedText text={visible(text)} />
        </p>
      )}
    </div>
  );
}
