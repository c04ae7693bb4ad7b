// Writes a role. The server says what is wrong with each field while it is typed, and once more when it is saved.
import { useId, useState } from "react";
import { useRoles } from "../state/queries";
import { t } from "../texts/definitions";
import { t as roles } from "../texts/roles";
import { Field, INPUT, VERBATIM } from "../ui/Field";
import { Form, FormButtons } from "../ui/Form";
import { say } from "../ui/outcomes";
import { RefusalNote } from "../ui/refusal";
import { Refusal } from "../wire/client";
import { useChecked } from "./checked";
import { COLOURS, checkRole, OUTPUTS, PERMISSIONS, type RoleValues, saveRole } from "./roleDraft";

interface Props {
  initial: RoleValues;
  isNew: boolean;
  onDone: () => void;
  onCancel: () => void;
}

export function RoleForm({ initial, isNew, onDone, onCancel }: Props) {
  const [values, setValues] = useState(initial);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  const [refusal, setRefusal] = useState("");
  const [busy, setBusy] = useState(false);
  const checked = useChecked(values, checkRole);
  const set = (change: Partial<RoleValues>) => {
    setValues((now) => ({ ...now, ...change }));
    setTouched((now) => new Set([...now, ...Object.keys(change)]));
    setRefused({});
    setRefusal("");
  };
  const faults = { ...checked?.found, ...refused };
  const faultAt = (field: string, label: string) => {
    const words = touched.has(field) || field in refused ? faults[field] : undefined;
    return words === undefined ? undefined : t.fault(label, words);
  };
  const save = async () => {
    setBusy(true);
    try {
      await saveRole(values, isNew);
      say(t.saved(values.name));
      onDone();
    } catch (error) {
      const { message, param, faults: told } = error as Refusal;
      const named = error instanceof Refusal && Object.keys(told).length === 0 && param ? { [param]: message } : told;
      setRefused(named ?? {});
      if (!named || Object.keys(named).length === 0) setRefusal(message);
    }
    setBusy(false);
  };
  const title = isNew ? t.newRole : t.edit(initial.name);
  return (
    <Form label={title} onSubmit={() => void save()}>
      <h3 className="font-semibold">{title}</h3>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t.name} hint={isNew ? t.roleNameHint : undefined} fault={faultAt("name", t.name)}>
          <input
            autoFocus={isNew}
            readOnly={!isNew}
            {...VERBATIM}
            value={values.name}
            onChange={({ target }) => set({ name: target.value })}
            className={`${INPUT} font-mono read-only:bg-sunken`}
          />
        </Field>
        <Field label={t.colour}>
          <select value={values.colour} onChange={({ target }) => set({ colour: target.value })} className={INPUT}>
            {[...new Set([...COLOURS, values.colour])].map((colour) => (
              <option key={colour} value={colour}>
                {t.colours[colour] ?? colour}
              </option>
            ))}
          </select>
        </Field>
      </div>
      <Field label={t.description} hint={t.descriptionHint} fault={faultAt("tooltip", t.description)}>
        <input
          autoFocus={!isNew}
          value={values.tooltip}
          onChange={({ target }) => set({ tooltip: target.value })}
          className={INPUT}
        />
      </Field>
      <Choices
        legend={t.permissions}
        about={t.permissionsAtOnce}
        options={PERMISSIONS.map((permission) => [permission, roles.permissions[permission] ?? permission])}
        chosen={values.permissions}
        onChange={(permissions) => set({ permissions: permissions as RoleValues["permissions"] })}
      />
      <Field label={t.output} fault={faultAt("output", t.output)}>
        <select
          value={values.output}
          onChange={({ target }) => set({ output: target.value as RoleValues["output"] })}
          className={INPUT}
        >
          {OUTPUTS.map((output) => (
            <option key={output} value={output}>
              {t.outputs[output]}
            </option>
          ))}
        </select>
      </Field>
      {values.output === "plan" && (
        <Delegates values={values} fault={faultAt("delegates", t.delegates)} onChange={set} />
      )}
      <Field label={t.instructions} hint={t.instructionsHint} fault={faultAt("prompt", t.instructions)}>
        <textarea
          rows={10}
          value={values.prompt}
          onChange={({ target }) => set({ prompt: target.value })}
          className={`${INPUT} min-h-40 py-2 leading-relaxed`}
        />
      </Field>
      {refusal && <RefusalNote words={refusal} />}
      <FormButtons
        submit={busy ? t.saving : t.save}
        disabled={busy || (checked?.current && Object.keys(faults).length > 0)}
        cancel={t.cancel}
        onCancel={onCancel}
      />
    </Form>
  );
}

function Delegates({
  values,
  fault,
  onChange,
}: {
  values: RoleValues;
  fault: string | undefined;
  onChange: (change: Partial<RoleValues>) => void;
}) {
  const others = useRoles().filter(({ name }) => name !== values.name);
  return (
    <>
      <Choices
        legend={t.delegates}
        about={t.delegatesAbout}
        options={others.map(({ name }) => [name, name])}
        chosen={values.delegates}
        onChange={(delegates) => onChange({ delegates })}
      />
      {fault && <p className="text-sm text-bad">{fault}</p>}
    </>
  );
}

function Choices({
  legend,
  about,
  options,
  chosen,
  onChange,
}: {
  legend: string;
  about: string;
  options: readonly (readonly [value: string, label: string])[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  const id = useId();
  return (
    <fieldset aria-describedby={id} className="min-w-0">
      <legend className="text-sm font-medium">{legend}</legend>
      <div className="mt-1 flex flex-wrap gap-x-5">
        {options.map(([value, label]) => (
          <label key={value} className="inline-flex min-h-9 items-center gap-2 text-sm thumb:min-h-11">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
              }
            />
            {label}
          </label>
        ))}
      </div>
      <p id={id} className="mt-0.5 text-xs text-ink-3">
        {about}
      </p>
    </fieldset>
  );
}
