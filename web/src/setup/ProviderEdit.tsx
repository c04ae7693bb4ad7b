import { useState } from "react";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import type { Provider } from "../wire/nouns";

export interface ProviderChange {
  base_url?: string;
  api_key?: string;
  models?: string[];
}

/** Only what was changed is sent. A key that is left empty stays as it is; it is never shown. */
export function ProviderEdit({
  provider,
  busy,
  onSave,
  onCancel,
}: {
  provider: Provider;
  busy: boolean;
  onSave: (change: ProviderChange) => void;
  onCancel: () => void;
}) {
  const [url, setUrl] = useState(provider.base_url ?? "");
  const [key, setKey] = useState("");
  const [models, setModels] = useState(provider.models.join(", "));
  const moved = hostOf(url) !== hostOf(provider.base_url ?? "");
  const submit = () => {
    const named = models
      .split(",")
      .map((model) => model.trim())
      .filter(Boolean);
    onSave({
      ...(url.trim() !== provider.base_url ? { base_url: url.trim() } : {}),
      ...(key.trim() ? { api_key: key.trim() } : {}),
      ...(named.join() !== provider.models.join() ? { models: named } : {}),
    });
  };
  return (
    <form
      aria-label={t.edit(provider.name)}
      className="mt-3 space-y-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field label={t.address} hint={t.ofAnOpenaiCompatibleServer}>
        <input
          required
          type="url"
          value={url}
          onChange={({ target }) => setUrl(target.value)}
          className={`${INPUT} font-mono`}
        />
      </Field>
      <Field label={t.newApiKey} hint={moved ? t.keyBelongsToTheOldHost : t.emptyKeepsTheKey}>
        <input
          type="password"
          autoComplete="off"
          value={key}
          onChange={({ target }) => setKey(target.value)}
          className={`${INPUT} font-mono`}
        />
      </Field>
      <Field label={t.models2} hint={t.withCommasEmptyAsksThe}>
        <input value={models} onChange={({ target }) => setModels(target.value)} className={`${INPUT} font-mono`} />
      </Field>
      <div className="flex gap-2 pt-1">
        <Button look="primary" type="submit" disabled={busy}>
          {busy ? t.testing : t.saveAndTest}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "";
}
