import { useState } from "react";
import { t } from "../texts/settings";
import { Form, FormButtons } from "../ui/Form";
import type { Provider } from "../wire/nouns";
import { AddressField, KeyField, ModelsField, namesIn } from "./ProviderFields";

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
    const named = namesIn(models);
    onSave({
      ...(url.trim() !== provider.base_url ? { base_url: url.trim() } : {}),
      ...(key.trim() ? { api_key: key.trim() } : {}),
      ...(named.join() !== provider.models.join() ? { models: named } : {}),
    });
  };
  return (
    <Form label={t.edit(provider.name)} className="mt-3 space-y-3" onSubmit={submit}>
      <AddressField value={url} onChange={setUrl} />
      <KeyField
        label={t.newApiKey}
        hint={moved ? t.keyBelongsToTheOldHost : t.emptyKeepsTheKey}
        value={key}
        onChange={setKey}
      />
      <ModelsField value={models} onChange={setModels} />
      <FormButtons submit={busy ? t.testing : t.saveAndTest} disabled={busy} cancel={t.cancel} onCancel={onCancel} />
    </Form>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "";
}
