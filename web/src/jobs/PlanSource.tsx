// Where a new job's plan comes from: the planning agent, a template with its parameters, or the plan of an earlier similar job.
import { useId } from "react";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/Field";
import { attempt } from "../ui/outcomes";
import { begun, filled } from "../workflows/filling";
import { ParameterField } from "../workflows/ParameterField";
import { type EarlierPlan, forgetPlan, type JobTemplate, useJobTemplates } from "./jobs";

export type Source =
  | { kind: "agent" }
  | { kind: "template"; template: JobTemplate; values: Readonly<Record<string, string | boolean>> }
  | { kind: "earlier"; earlier: EarlierPlan };

interface Props {
  chatId: string;
  request: string;
  source: Source;
  faults: Readonly<Record<string, string>>;
  onChange: (source: Source) => void;
}

/** What is sent beside the job's settings. An earlier plan gets the new request as its goal. */
export function wantedPlan(source: Source, request: string) {
  if (source.kind === "template")
    return { template: { name: source.template.name, parameters: filled(source.values) } };
  if (source.kind === "earlier") return { plan: { ...source.earlier.plan, goal: request } };
  return { request };
}

export function PlanSource({ chatId, request, source, faults, onChange }: Props) {
  const id = useId();
  const found = useJobTemplates(chatId, request);
  const templates = found.data?.templates ?? [];
  const similar = found.data?.similar ?? [];
  const choose = (value: string) => {
    const template = templates.find(({ name }) => value === `template:${name}`);
    const earlier = similar.find(({ job_id }) => value === `earlier:${job_id}`);
    if (template) onChange({ kind: "template", template, values: begun(template.parameters) });
    else onChange(earlier ? { kind: "earlier", earlier } : { kind: "agent" });
  };
  const forget = async (earlier: EarlierPlan) => {
    if (!(await attempt(forgetPlan(earlier.job_id)))) return;
    onChange({ kind: "agent" });
    await found.refetch();
  };
  return (
    <div className="space-y-3">
      <label htmlFor={id}>{t.planFrom}</label>
      <select id={id} value={choiceOf(source)} onChange={({ target }) => choose(target.value)} className={INPUT}>
        <option value="agent">{t.planByAgent}</option>
        {similar.length > 0 && (
          <optgroup label={t.earlierPlan}>
            {similar.map(({ job_id, request: words }) => (
              <option key={job_id} value={`earlier:${job_id}`}>
                {words.slice(0, 120)}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label={t.template}>
          {templates.map(({ name, description }) => (
            <option key={name} value={`template:${name}`}>
              {`${name}: ${description}`}
            </option>
          ))}
        </optgroup>
      </select>
      {found.isError && <p className="text-bad">{t.templatesFailed}</p>}
      {found.data?.faults.map(({ path, line, reason }) => (
        <p key={path} role="note" className="text-xs break-words text-ink-3">
          {t.templateFault(path, line, reason)}
        </p>
      ))}
      {source.kind === "template" && <p className="text-ink-2">{t.templateHint}</p>}
      {source.kind === "template" &&
        source.template.parameters.map((parameter) => (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={source.values[parameter.name] ?? ""}
            fault={faults[parameter.name] ?? null}
            first={false}
            onChange={(value) => onChange({ ...source, values: { ...source.values, [parameter.name]: value } })}
          />
        ))}
      {source.kind === "earlier" && (
        <div className="space-y-2">
          <p className="text-ink-2">{t.earlierPlanHint}</p>
          <Actions plan={source.earlier.plan} />
          <Button needs="POST /jobs/{job_id}/forget" look="quiet" onClick={() => void forget(source.earlier)}>
            {t.forgetPlan}
          </Button>
        </div>
      )}
    </div>
  );
}

const MOST_SHOWN = 10;

function Actions({ plan }: { plan: EarlierPlan["plan"] }) {
  const steps = Array.isArray(plan["steps"]) ? (plan["steps"] as { action?: unknown }[]) : [];
  return (
    <details>
      <summary>{t.planSteps(steps.length)}</summary>
      <ol className="max-h-40 list-decimal overflow-y-auto pl-5">
        {steps.slice(0, MOST_SHOWN).map(({ action }, place) => (
          <li key={place} className="break-words">
            {String(action)}
          </li>
        ))}
      </ol>
    </details>
  );
}

function choiceOf(source: Source): string {
  if (source.kind === "template") return `template:${source.template.name}`;
  return source.kind === "earlier" ? `earlier:${source.earlier.job_id}` : "agent";
}
