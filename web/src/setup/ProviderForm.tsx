import { type ReactNode, useState } from "react";
import { Button } from "../ui/Button";

export interface NewProvider {
  name: string;
  kind: "openai";
  base_url: string;
  api_key_env?: string;
  models?: string[];
}

/** Any server that speaks the OpenAI API. Its key is named, not typed: it stays in the server's environment. */
export function ProviderForm({ onAdd, onCancel }: { onAdd: (provider: NewProvider) => void; onCancel: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [keyName, setKeyName] = useState("");
  const [models, setModels] = useState("");
  const submit = () => {
    const named = models.split(",").map((model) => model.trim()).filter(Boolean);
    onAdd({ name: name.trim(), kind: "openai", base_url: url.trim(), ...(keyName.trim() ? { api_key_env: keyName.trim() } : {}), ...(named.length > 0 ? { models: named } : {}) });
  };
  return (
    <form
      className="space-y-3 rounded-2xl border border-line bg-surface p-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field label="Name" hint="one word, such as office">
        <input required pattern="[a-z0-9][a-z0-9_.\-]*" value={name} onChange={({ target }) => setName(target.value)} className={INPUT} />
      </Field>
      <Field label="Address" hint="of an OpenAI-compatible server">
        <input required type="url" placeholder="http://127.0.0.1:8000/v1" value={url} onChange={({ target }) => setUrl(target.value)} className={INPUT} />
      </Field>
      <Field label="Name of its key" hint="the environment variable that holds it; empty if it wants none">
        <input placeholder="OFFICE_API_KEY" value={keyName} onChange={({ target }) => setKeyName(target.value)} className={INPUT} />
      </Field>
      <Field label="Models" hint="with commas; empty asks the server for its list">
        <input value={models} onChange={({ target }) => setModels(target.value)} className={INPUT} />
      </Field>
      <div className="flex gap-2 pt-1">
        <Button look="primary" type="submit">
          Add
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

const INPUT = "min-h-9 w-full rounded-lg border border-line-strong bg-paper px-3 font-mono text-sm placeholder:text-ink-3";

function Field({ label, hint, children }: { label: string; hint: string; children: ReactNode }) {
  return (
    <label className="block text-sm">
      <span className="font-medium">{label}</span> <span className="text-ink-3">{hint}</span>
      <span className="mt-1 block">{children}</span>
    </label>
  );
}
