// Adds a server: a program with its arguments, or an address. The catalogue fills in the form.

import { useState } from "react";
import { t } from "../texts/mcp";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import { Form } from "../ui/Form";
import { attempt } from "../ui/toasts";
import { api, given } from "../wire/client";
import { CATALOGUE, newServer } from "./catalogue";

const EMPTY = { name: "", target: "", network: "" };

export function AddServer({ onAdded }: { onAdded: (name: string) => void }) {
  const [typed, setTyped] = useState(EMPTY);
  const ready = typed.name.trim() !== "" && typed.target.trim() !== "";
  const add = async () => {
    const body = newServer(typed.name, typed.target, typed.network);
    if (!ready || !(await attempt(given(api.POST("/mcp/servers", { body: body as never }))))) return;
    setTyped(EMPTY);
    onAdded(body.name);
  };
  const input = (field: keyof typeof EMPTY) => ({
    value: typed[field],
    onChange: ({ target }: { target: HTMLInputElement }) => setTyped({ ...typed, [field]: target.value }),
    className: INPUT,
  });
  return (
    <Form label={t.add} onSubmit={() => void add()}>
      <h3 className="text-sm font-semibold">{t.add}</h3>
      <fieldset>
        <legend className="text-sm font-medium">{t.catalogue}</legend>
        <p className="mb-1.5 text-xs text-ink-3">{t.choose}</p>
        <div className="flex flex-wrap gap-2">
          {CATALOGUE.map(({ name, about, install, target, network }) => (
            <Button
              key={name}
              title={`${about}. ${t.install(install)}`}
              onClick={() => setTyped({ name, target, network })}
            >
              {name}
            </Button>
          ))}
        </div>
      </fieldset>
      <Field label={t.name} hint={t.nameHint}>
        <input {...input("name")} maxLength={32} />
      </Field>
      <Field label={t.target} hint={t.targetHint}>
        <input {...input("target")} maxLength={4000} />
      </Field>
      <Field label={t.network} hint={t.networkHint}>
        <input {...input("network")} maxLength={2000} />
      </Field>
      <Button type="submit" look="primary" disabled={!ready}>
        {t.addButton}
      </Button>
    </Form>
  );
}
