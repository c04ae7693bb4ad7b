// Writes a workflow as its file. The server says in which line something is wrong while it is typed.
import { useId, useRef, useState } from "react";
import { t } from "../texts/definitions";
import { t as roles } from "../texts/roles";
import { Button } from "../ui/Button";
import { Field, INPUT, VERBATIM } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { useChecked } from "./checked";
import { checkWorkflow, saveWorkflow, type WorkflowCheck, type WorkflowDraft } from "./workflowDraft";

interface Props {
  initial: WorkflowDraft;
  onDone: () => void;
  onCancel: () => void;
}

export function WorkflowForm({ initial, onDone, onCancel }: Props) {
  const isNew = initial.sha256 === null;
  const [draft, setDraft] = useState(initial);
  const [busy, setBusy] = useState(false);
  const [attempt, refusal, faultAt] = useRefusal({ name: "name" });
  const area = useRef<HTMLTextAreaElement>(null);
  const told = useId();
  const checked = useChecked(draft, checkWorkflow);
  const faulty = checked?.found.fault != null;
  const save = async () => {
    setBusy(true);
    const saved = await attempt(saveWorkflow(draft));
    setBusy(false);
    if (!saved) return;
    say(t.saved(draft.name));
    onDone();
  };
  const title = isNew ? t.newWorkflow : t.edit(initial.name);
  return (
    <Form label={title} onSubmit={() => void save()}>
      <h3 className="font-semibold">{title}</h3>
      <TextField
        label={t.name}
        {...(isNew ? { hint: t.nameHint } : {})}
        fault={faultAt("name")}
        autoFocus={isNew}
        required
        readOnly={!isNew}
        value={draft.name}
        onChange={(name) => setDraft({ ...draft, name })}
        className="read-only:bg-sunken"
      />
      <Field label={t.definition} hint={t.definitionHint}>
        <textarea
          ref={area}
          autoFocus={!isNew}
          rows={20}
          {...VERBATIM}
          aria-invalid={faulty}
          aria-describedby={told}
          value={draft.content}
          onChange={({ target }) => setDraft({ ...draft, content: target.value })}
          className={`${INPUT} min-h-60 py-2 font-mono text-[13px] leading-relaxed`}
        />
      </Field>
      <CheckResult id={told} found={checked?.found ?? null} onLine={(line) => goToLine(area.current, line)} />
      {refusal}
      <FormButtons
        submit={busy ? t.saving : t.save}
        disabled={busy || !draft.name || (checked?.current && faulty)}
        cancel={t.cancel}
        onCancel={onCancel}
      />
    </Form>
  );
}

function CheckResult({
  id,
  found,
  onLine,
}: {
  id: string;
  found: WorkflowCheck | null;
  onLine: (line: number) => void;
}) {
  const { fault, workflow } = found ?? {};
  const line = fault?.line ?? null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 text-sm">
      <p id={id} aria-live="polite" className={fault ? "text-bad" : "text-ink-2"}>
        {fault && t.problem(fault.reason)}
        {workflow &&
          t.fine(workflow.steps.length, workflow.needs.map((one) => roles.permissions[one] ?? one).join(", "))}
        {!found && t.checking}
      </p>
      {line !== null && (
        <Button look="quiet" onClick={() => onLine(line)}>
          {t.goToLine(line)}
        </Button>
      )}
    </div>
  );
}

/** Selects the line, so that it is scrolled to and read out. */
function goToLine(area: HTMLTextAreaElement | null, line: number) {
  if (!area) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  area.scrollTop = (line - 4) * (area.scrollHeight / lines.length);
}
