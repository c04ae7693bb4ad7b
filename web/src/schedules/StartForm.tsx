// The form of a schedule or a trigger: what is started, with which values, when, as whom and for how much.

import { useState } from "react";
import { lookOf } from "../roles/theme";
import { useRoles } from "../state/queries";
import { t } from "../texts/schedules";
import { Field, INPUT } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import { ParameterField } from "../workflows/ParameterField";
import { cronWords } from "./cronWords";
import { begunWith, bodyOf, type Draft, draftOf, type Startable, type Startee } from "./startables";

interface Props {
  item: Startable | null;
  trigger: boolean;
  startees: readonly Startee[];
  onSave: (body: Record<string, unknown>) => Promise<unknown>;
  onDone: () => void;
}

const OF_PARAMETER = "parameter ";

export function StartForm({ item, trigger, startees, onSave, onDone }: Props) {
  const [draft, setDraft] = useState(() => draftOf(item, startees));
  const parameters = startees.find(({ key }) => key === draft.startee)?.parameters ?? [];
  const [attemptHere, refusal, faultAt] = useRefusal({
    cron: "cron",
    at: "at",
    time_zone: "timeZone",
    ...Object.fromEntries(parameters.map(({ name }) => [name, OF_PARAMETER + name])),
  });
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const save = async () => {
    if (await attemptHere(onSave(bodyOf(draft, item, trigger)))) onDone();
  };
  const kindOf = trigger ? t.trigger : t.schedule;
  return (
    <Form label={item ? t.edit(item.name) : kindOf} className="space-y-3" onSubmit={() => void save()}>
      <Field label={t.name}>
        <input
          required
          maxLength={120}
          value={draft.name}
          onChange={({ target }) => change({ name: target.value })}
          className={INPUT}
        />
      </Field>
      <StarteeField
        startees={startees}
        value={draft.startee}
        onChange={(startee) => change({ startee, values: begunWith(startee, startees), pointers: {} })}
      />
      {parameters.length > 0 && (
        <div role="group" aria-label={t.values} className="space-y-3 border-l-2 border-line pl-3">
          {parameters.map((parameter) => (
            <div key={parameter.name} className="space-y-1">
              <ParameterField
                parameter={trigger && draft.pointers[parameter.name] ? { ...parameter, required: false } : parameter}
                value={draft.values[parameter.name] ?? ""}
                fault={faultAt(OF_PARAMETER + parameter.name) ?? null}
                first={false}
                onChange={(value) => change({ values: { ...draft.values, [parameter.name]: value } })}
              />
              {trigger && (
                <TextField
                  label={t.fromBody(parameter.name)}
                  hint={t.pointerHint}
                  placeholder={t.pointerExample}
                  value={draft.pointers[parameter.name] ?? ""}
                  onChange={(pointer) => change({ pointers: { ...draft.pointers, [parameter.name]: pointer } })}
                />
              )}
            </div>
          ))}
        </div>
      )}
      {!trigger && <TimeFields draft={draft} faultAt={faultAt} onChange={change} />}
      <RoleField value={draft.role} onChange={(role) => change({ role })} />
      <TextField
        label={t.cost}
        hint={t.costHint}
        inputMode="decimal"
        value={draft.cost}
        onChange={(cost) => change({ cost })}
      />
      {refusal}
      <FormButtons
        submit={t.save}
        disabled={!draft.name.trim() || !draft.startee}
        cancel={t.cancel}
        onCancel={onDone}
      />
    </Form>
  );
}

function StarteeField(props: { startees: readonly Startee[]; value: string; onChange: (key: string) => void }) {
  const groups = [
    { label: t.workflows, kind: "workflow:" },
    { label: t.templates, kind: "template:" },
  ];
  return (
    <Field label={t.starts}>
      <select value={props.value} onChange={({ target }) => props.onChange(target.value)} className={INPUT}>
        {groups.map(({ label, kind }) => (
          <optgroup key={kind} label={label}>
            {props.startees
              .filter(({ key }) => key.startsWith(kind))
              .map(({ key, name }) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </Field>
  );
}

interface TimeProps {
  draft: Draft;
  faultAt: (field: string) => string | undefined;
  onChange: (changes: Partial<Draft>) => void;
}

function TimeFields({ draft, faultAt, onChange }: TimeProps) {
  return (
    <>
      <Field label={t.when}>
        <select
          value={draft.once ? "at" : "cron"}
          onChange={({ target }) => onChange({ once: target.value === "at" })}
          className={INPUT}
        >
          <option value="cron">{t.again}</option>
          <option value="at">{t.onceOnly}</option>
        </select>
      </Field>
      {draft.once ? (
        <Field label={t.at} fault={faultAt("at")}>
          <input
            type="datetime-local"
            value={draft.at.slice(0, 16)}
            onChange={({ target }) => onChange({ at: target.value })}
            className={INPUT}
          />
        </Field>
      ) : (
        <div className="space-y-1">
          <TextField
            label={t.cron}
            hint={t.cronHint}
            fault={faultAt("cron")}
            value={draft.cron}
            onChange={(cron) => onChange({ cron })}
          />
          <output className="block text-sm text-ink-2">{cronWords(draft.cron)}</output>
        </div>
      )}
      <TextField
        label={t.timeZone}
        fault={faultAt("timeZone")}
        value={draft.timeZone}
        onChange={(timeZone) => onChange({ timeZone })}
      />
      <Field label={t.missed}>
        <select
          value={draft.missed}
          onChange={({ target }) => onChange({ missed: target.value as Draft["missed"] })}
          className={INPUT}
        >
          {(["once", "all", "skip"] as const).map((rule) => (
            <option key={rule} value={rule}>
              {t.missedRules[rule]}
            </option>
          ))}
        </select>
      </Field>
    </>
  );
}

function RoleField({ value, onChange }: { value: string; onChange: (role: string) => void }) {
  const roles = useRoles();
  return (
    <Field label={t.role}>
      <select value={value} onChange={({ target }) => onChange(target.value)} className={INPUT}>
        <option value="">{t.usualRole}</option>
        {roles.map(({ name }) => (
          <option key={name} value={name}>
            {lookOf(roles, name).title}
          </option>
        ))}
      </select>
    </Field>
  );
}
