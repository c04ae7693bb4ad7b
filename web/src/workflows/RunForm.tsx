// A workflow's own form: what it does, what it needs, its parameters. What does not fit is told at its field, in the server's words.

import { Play } from "lucide-react";
import { useState } from "react";
import { lookOf } from "../roles/theme";
import * as acts from "../state/acts";
import { useRoles } from "../state/queries";
import { t } from "../texts/workflows";
import { Button } from "../ui/Button";
import { wantsFocus } from "../ui/Dialog";
import { Refusal } from "../wire/client";
import type { Workflow } from "../wire/nouns";
import { lacking, rolesFor } from "./choosing";
import { begun, filled } from "./filling";
import { ParameterField } from "./ParameterField";

interface Props {
  chatId: string;
  workflow: Workflow;
  role: string;
  busy: boolean;
  onSwitch: (role: string) => void;
  onStarted: () => void;
  onBack: () => void;
}

export function RunForm({ chatId, workflow, role, busy, onSwitch, onStarted, onBack }: Props) {
  const [values, setValues] = useState(() => begun(workflow.parameters));
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [sending, setSending] = useState(false);
  const run = async () => {
    if (sending || busy) return;
    setSending(true);
    setRefusal(null);
    try {
      await acts.runWorkflow(chatId, workflow.name, filled(values));
      onStarted();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setRefusal(error);
    } finally {
      setSending(false);
    }
  };
  const { parameters } = workflow;
  const faults = refusal?.faults ?? {};
  const atField = parameters.some(({ name }) => faults[name]);
  return (
    <form
      noValidate
      aria-label={workflow.name}
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <p className="text-sm break-words text-ink-2">{workflow.description}</p>
      {workflow.about && (
        <p className="text-sm break-words whitespace-pre-line text-ink-3">{flowing(workflow.about)}</p>
      )}
      <WrongRole workflow={workflow} role={role} onSwitch={onSwitch} />
      {parameters.map((parameter, place) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name] ?? ""}
          fault={faults[parameter.name] ?? null}
          first={place === 0}
          onChange={(value) => setValues({ ...values, [parameter.name]: value })}
        />
      ))}
      {refusal && (
        <p role="alert" className="text-sm break-words text-bad">
          {atField ? t.someValuesDoNotFit : refusal.message}
        </p>
      )}
      <Steps workflow={workflow} />
      <footer className="flex flex-wrap items-center gap-2">
        <Button
          needs="POST /workflows/{name}/execute"
          look="primary"
          type="submit"
          icon={<Play size={14} aria-hidden />}
          disabled={sending || busy}
          autoFocus={parameters.length === 0}
          ref={parameters.length === 0 ? wantsFocus : null}
        >
          {t.run}
        </Button>
        <Button look="quiet" onClick={onBack}>
          {t.allWorkflows}
        </Button>
        {busy && <span className="text-sm text-ink-3">{t.theAgentIsAtWork}</span>}
      </footer>
    </form>
  );
}

/** Said before it is tried: the server would refuse it. */
function WrongRole({
  workflow,
  role,
  onSwitch,
}: {
  workflow: Workflow;
  role: string;
  onSwitch: (role: string) => void;
}) {
  const roles = useRoles();
  const missing = lacking(roles, role, workflow);
  if (missing.length === 0) return null;
  return (
    <div
      role="note"
      className="flex flex-wrap items-center gap-2 rounded-xl border border-dashed border-line-strong px-3 py-2.5 text-sm text-ink-2"
    >
      <p className="w-full">
        {t.mayNotRunThisIt(lookOf(roles, role).title, missing.map((need) => need.replaceAll("_", " ")).join(", "))}
      </p>
      {rolesFor(roles, workflow).map((name) => (
        <Button key={name} needs="PUT /context/{chat_id}/role" onClick={() => onSwitch(name)}>
          {t.switchTo(lookOf(roles, name).title)}
        </Button>
      ))}
    </div>
  );
}

function Steps({ workflow: { steps } }: { workflow: Workflow }) {
  return (
    <div className="text-sm text-ink-2">
      <h3 className="font-medium">{steps.length === 1 ? t.oneStep : t.steps(steps.length)}</h3>
      <ol className="list-decimal pl-5">
        {steps.map(({ title }, place) => (
          <li key={place} className="break-words">
            {title}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** A text whose lines were broken in its file: a line goes on with the next one, unless that begins a paragraph or a list. Pure. */
function flowing(text: string): string {
  return text.replace(/(?<!\n)\n(?![\n\s*-]|\d+\.)/g, " ");
}
