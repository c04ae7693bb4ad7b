import { ArrowDown, ArrowLeft, ArrowUp, Plus, Trash2, Zap } from "lucide-react";
import { type ReactNode, type Ref, useEffect, useRef, useState } from "react";
import { GrantedText } from "../approvals/DisclosedList";
import { usePlannedUses, wordsLabelled } from "../content/tools";
import { visible } from "../content/visible";
import { t } from "../texts/messages";
import { Button, IconButton } from "../ui/Button";
import { VERBATIM } from "../ui/Field";
import { SeenMark } from "../ui/SeenMark";
import type { Budget, Plan, PlanEdits, PlanStep } from "../wire/nouns";
import { BudgetFields } from "./BudgetFields";
import { type Edit, edited } from "./planEdits";

interface Props {
  plan: Plan;
  busy: boolean;
  onCancel: () => void;
  onExecute: (edits: PlanEdits) => void;
}

export function PlanEditor({ plan, busy, onCancel, onExecute }: Props) {
  const [steps, setSteps] = useState<PlanStep[]>(plan.steps);
  const [budget, setBudget] = useState<Budget | null>(plan.budget);
  const edit = (wish: Edit) => setSteps((now) => edited(now, wish));
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const unread = plan.steps.some(({ id }) => !seen.has(id) && steps.some((step) => step.id === id));
  const first = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    first.current?.focus({ preventScroll: true }); // a scroll while the card grows would lead to its end
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => first.current?.scrollIntoView?.({ block: "nearest" })); // it has grown now
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  const ready = steps.length > 0 && steps.every(({ action }) => action.trim());
  return (
    <div data-edits>
      {/* meanwhile the way to the end of the chat would lie over its buttons */}
      <ol className="space-y-3">
        {steps.map((step, at) => (
          <StepFields
            key={step.id}
            step={step}
            at={at}
            last={steps.length - 1}
            first={at === 0 ? first : null}
            edit={edit}
            onSeen={() => setSeen((now) => new Set([...now, step.id]))}
          />
        ))}
      </ol>
      <Button look="quiet" className="mt-3" icon={<Plus size={15} aria-hidden />} onClick={() => edit({ do: "add" })}>
        {t.addAStep}
      </Button>
      <BudgetFields initial={plan.budget} onChange={setBudget} />
      {/* stays in view however long the plan is */}
      <footer className="sticky bottom-0 mt-4 flex flex-wrap items-center gap-x-2 gap-y-1 border-t border-line bg-surface py-3 max-sm:py-2">
        <Button
          look="primary"
          icon={<Zap size={15} aria-hidden />}
          disabled={busy || !ready || unread || !budget}
          onClick={() => budget && onExecute({ steps, budget })}
        >
          {t.executeEditedPlan}
        </Button>
        <Button icon={<ArrowLeft size={15} aria-hidden />} onClick={onCancel}>
          <span className="max-sm:sr-only">{t.backToThePlan}</span>
        </Button>
        {unread && (
          <p role="status" className="text-sm text-warn max-sm:w-full max-sm:text-xs">
            {t.scrollThroughEveryStepFirst}
          </p>
        )}
        {!budget && <p className="text-sm text-bad">{t.correctTheBudgetFirst}</p>}
        {!ready && <p className="text-sm text-ink-3">{t.everyStepNeedsWords}</p>}
      </footer>
    </div>
  );
}

interface StepProps {
  step: PlanStep;
  at: number;
  last: number;
  first: Ref<HTMLTextAreaElement>;
  edit: (wish: Edit) => void;
  onSeen: () => void;
}

// The margins keep a field that gets the focus clear of the header and of the buttons that stay in view.
const FIELD =
  "w-full scroll-mt-20 scroll-mb-32 rounded-lg border border-line-strong/70 bg-paper px-3 py-1.5 placeholder:text-ink-3";

function StepFields({ step, at, last, first, edit, onSeen }: StepProps) {
  const change = (part: Partial<PlanStep>) => edit({ do: "change", at, change: part });
  const name = t.stepName(at + 1);
  return (
    <li className="flex gap-2 max-sm:grid max-sm:grid-cols-2">
      <div className="flex flex-col max-sm:flex-row">
        <IconButton
          label={t.moveUp(name)}
          disabled={at === 0}
          onClick={() => edit({ do: "move", at, by: -1 })}
          className="!size-7 thumb:!size-10"
        >
          <ArrowUp size={15} aria-hidden />
        </IconButton>
        <IconButton
          label={t.moveDown(name)}
          disabled={at === last}
          onClick={() => edit({ do: "move", at, by: 1 })}
          className="!size-7 thumb:!size-10"
        >
          <ArrowDown size={15} aria-hidden />
        </IconButton>
      </div>
      <div role="group" aria-label={name} className="min-w-0 flex-1 space-y-1.5 max-sm:order-last max-sm:col-span-2">
        <label className="block">
          <FieldName>{t.whatStepShouldDo(at + 1)}</FieldName>
          <textarea
            rows={1}
            ref={first}
            value={step.action}
            onChange={({ target }) => change({ action: target.value })}
            className={`${FIELD} block resize-none text-sm [field-sizing:content]`}
          />
        </label>
        <div className="flex flex-col gap-1.5 sm:flex-row">
          <WordsField label={t.filesItMayTouchWith} words={step.paths} onChange={(paths) => change({ paths })} />
          <ToolsField words={step.tools_needed} onChange={(tools_needed) => change({ tools_needed })} />
        </div>
        <WordsField
          label={t.commandsItMayRunOne}
          words={step.commands}
          separator={"\n"}
          onChange={(commands) => change({ commands })}
        />
        <div className="flex flex-col gap-1.5 sm:flex-row">
          <WordsField
            label={t.commandThatProvesIt}
            words={step.check ? [step.check] : []}
            separator={null}
            onChange={([check]) => change({ check: check ?? null })}
          />
          <WordsField
            label={t.whatIsCheckedWhenDone}
            words={step.expect}
            separator={"\n"}
            example="output report.md"
            onChange={(expect) => change({ expect })}
          />
        </div>
        <SeenMark onSeen={onSeen} />
      </div>
      <IconButton
        label={t.drop(name)}
        disabled={last === 0}
        onClick={() => edit({ do: "drop", at })}
        className="!size-7 thumb:!size-10 hover:!text-bad max-sm:justify-self-end"
      >
        <Trash2 size={15} aria-hidden />
      </IconButton>
    </li>
  );
}

/** Tools and permissions by what they do. A name that is typed is taken as it is. */
function ToolsField({ words, onChange }: Pick<WordsProps, "words" | "onChange">) {
  const [before] = useState(words);
  const purposeOf = usePlannedUses(before);
  return (
    <WordsField
      label={t.toolsItMayUseWith}
      words={[...new Set(words.map((word) => purposeOf(word).label))]}
      onChange={(labels) => onChange(labels.flatMap((label) => wordsLabelled(label, before, purposeOf)))}
    />
  );
}

function FieldName({ children }: { children: ReactNode }) {
  return <span className="mb-0.5 block text-xs font-medium text-ink-2">{children}</span>;
}

interface WordsProps {
  label: string;
  words: string[];
  /** Null: it is one word, whatever is in it. */
  separator?: string | null;
  example?: string;
  onChange: (words: string[]) => void;
}

function WordsField({ label, words, separator = ",", example, onChange }: WordsProps) {
  const [text, setText] = useState(words.join(separator === "," ? ", " : (separator ?? "")));
  const read = (value: string) =>
    (separator === null ? [value] : value.split(separator)).map((word) => word.trim()).filter(Boolean);
  return (
    <div className="w-full min-w-0">
      <label className="block">
        <FieldName>{label}</FieldName>
        <textarea
          rows={1}
          {...VERBATIM}
          placeholder={example}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onChange(read(target.value));
          }}
          className={`${FIELD} block resize-none font-mono text-xs wrap-anywhere [field-sizing:content]`}
        />
      </label>
      {visible(text) !== text && (
        <p className="mt-0.5 text-xs text-warn">
          {t.itHoldsHiddenCharacters} <GrantedText text={visible(text)} />
        </p>
      )}
    </div>
  );
}
