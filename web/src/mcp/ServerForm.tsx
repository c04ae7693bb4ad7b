// The form of a server, for adding and for editing: what is started or reached, and what it may see, keep and reach.

import { useState } from "react";
import { t } from "../texts/mcp";
import { Button } from "../ui/Button";
import { Checkbox, Field, INPUT, VERBATIM } from "../ui/Field";
import { Form, FormButtons } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import { ACCESS, isAddress, type TypedServer, type WorkspaceAccess } from "./serverBody";

interface Props {
  label: string;
  submit: string;
  start: TypedServer;
  /** The names of variables that the server has; their values are never read back. */
  stored?: readonly string[];
  /** Throws what is refused: the form says it, at the field where it can. */
  onSubmit: (typed: TypedServer) => Promise<unknown>;
  onCancel?: () => void;
}

/** The field of each parameter that can be refused. */
const FIELDS = {
  name: "name",
  command: "target",
  args: "target",
  url: "target",
  network: "network",
  env: "variables",
  headers: "variables",
};

export function ServerForm({ label, submit, start, stored, onSubmit, onCancel }: Props) {
  const [typed, setTyped] = useState(start);
  const [attempt, refusal, faultAt] = useRefusal(FIELDS);
  const ready = typed.name.trim() !== "" && typed.target.trim() !== "";
  const isProgram = !isAddress(typed.target.trim());
  const set = (changes: Partial<TypedServer>) => setTyped({ ...typed, ...changes });
  return (
    <Form label={label} onSubmit={() => ready && void attempt(onSubmit(typed))} className="space-y-3">
      {!stored && (
        <Field label={t.name} hint={t.nameHint} fault={faultAt("name")}>
          <input
            value={typed.name}
            onChange={({ target }) => set({ name: target.value })}
            maxLength={32}
            {...VERBATIM}
            className={INPUT}
          />
        </Field>
      )}
      <Field label={t.target} hint={t.targetHint} fault={faultAt("target")}>
        <input
          value={typed.target}
          onChange={({ target }) => set({ target: target.value })}
          maxLength={4000}
          {...VERBATIM}
          className={INPUT}
        />
      </Field>
      {isProgram && (
        <>
          <Field label={t.network} hint={t.networkHint} fault={faultAt("network")}>
            <input
              value={typed.network}
              onChange={({ target }) => set({ network: target.value })}
              maxLength={2000}
              {...VERBATIM}
              className={INPUT}
            />
          </Field>
          <Field label={t.access}>
            <select
              value={typed.access}
              onChange={({ target }) => set({ access: target.value as WorkspaceAccess })}
              className={INPUT}
            >
              {ACCESS.map((access) => (
                <option key={access} value={access}>
                  {t.accessOf[access]}
                </option>
              ))}
            </select>
          </Field>
          {typed.access === "layer" && <p className="text-xs text-ink-3">{t.layerHint}</p>}
          <div>
            <Checkbox label={t.dataFolder} on={typed.dataFolder} onTurn={(dataFolder) => set({ dataFolder })} />
            <p className="text-xs text-ink-3">{t.dataFolderHint}</p>
          </div>
        </>
      )}
      {stored && stored.length > 0 && (
        <fieldset>
          <legend className="text-sm font-medium">{t.storedVariables}</legend>
          <div className="flex flex-wrap gap-x-4">
            {stored.map((name) => (
              <Checkbox
                key={name}
                label={name}
                name={t.keepVariable(name)}
                on={!typed.dropped.includes(name)}
                onTurn={(on) =>
                  set({ dropped: on ? typed.dropped.filter((other) => other !== name) : [...typed.dropped, name] })
                }
              />
            ))}
          </div>
        </fieldset>
      )}
      <Field
        label={isProgram ? t.variables : t.headers}
        hint={isProgram ? t.variablesHint : t.headersHint}
        fault={faultAt("variables")}
      >
        <textarea
          value={typed.variables}
          onChange={({ target }) => set({ variables: target.value })}
          rows={2}
          maxLength={100_000}
          {...VERBATIM}
          className={`${INPUT} py-1.5 font-mono`}
        />
      </Field>
      {refusal}
      {onCancel ? (
        <FormButtons submit={submit} disabled={!ready} cancel={t.cancel} onCancel={onCancel} />
      ) : (
        <Button type="submit" look="primary" disabled={!ready}>
          {submit}
        </Button>
      )}
    </Form>
  );
}
