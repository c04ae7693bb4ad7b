import { useState } from "react";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";

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
        <input required pattern="[a-z0-9][a-z0-9_.\-]*" value={name} onChange={({ target }) => setName(target.value)} className={`${INPUT} font-mono`} />
      </Field>
      <Field label="Address" hint="of an OpenAI-compatible server">
        <input required type="url" placeholder="http://127.0.0.1:8000/v1" value={url} onChange={({ target }) => setUrl(target.value)} className={`${INPUT} font-mono`} />
      </Field>
      <Field label="Name of its key" hint="the environment variable that holds it; empty if it wants none">
        <input placeholder="OFFICE_API_KEY" value={keyName} onChange={({ target }) => setKeyName(target.value)} className={`${INPUT} font-mono`} />
      </Field>
      <Field label="Models" hint="with commas; empty asks the server for its list">
        <input value={models} onChange={({ target }) => setModels(target.value)} className={`${INPUT} font-mono`} />
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
