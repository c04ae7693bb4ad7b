import { useState } from "react";
import { t } from "../texts/settings";
import { Form, FormButtons } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import type { Privacy, Provider } from "../wire/nouns";
import { ModelSettingsFields, type ModelsSettings } from "./ModelSettingsFields";
import { AddressField, CONNECTION_FIELDS, KeyField, ModelsField, namesIn, PrivacyField } from "./ProviderFields";

export interface ProviderChange {
  base_url?: string;
  api_key?: string;
  models?: string[];
  model_settings?: ModelsSettings;
  privacy?: Privacy;
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
  /** Throws what is refused. */
  onSave: (change: ProviderChange) => Promise<unknown>;
  onCancel: () => void;
}) {
  const [url, setUrl] = useState(provider.base_url ?? "");
  const [key, setKey] = useState("");
  const [models, setModels] = useState(provider.models.join(", "));
  const [settings, setSettings] = useState<ModelsSettings>(provider.model_settings);
  const [privacy, setPrivacy] = useState(provider.privacy);
  const moved = hostOf(url) !== hostOf(provider.base_url ?? "");
  const [attempt, refusal, faultAt] = useRefusal(CONNECTION_FIELDS);
  const submit = () => {
    const named = namesIn(models);
    void attempt(
      onSave({
        ...(url.trim() !== provider.base_url ? { base_url: url.trim() } : {}),
        ...(key.trim() ? { api_key: key.trim() } : {}),
        ...(named.join() !== provider.models.join() ? { models: named } : {}),
        ...(settings !== provider.model_settings ? { model_settings: settings } : {}),
        ...(privacy !== provider.privacy ? { privacy } : {}),
      }),
    );
  };
  return (
    <Form label={t.edit(provider.name)} className="mt-3 space-y-3" onSubmit={submit}>
      <AddressField fault={faultAt("address")} value={url} onChange={setUrl} />
      <KeyField
        label={t.newApiKey}
        hint={moved ? t.keyBelongsToTheOldHost : t.emptyKeepsTheKey}
        fault={faultAt("key")}
        value={key}
        onChange={setKey}
      />
      <ModelsField fault={faultAt("models")} value={models} onChange={setModels} />
      <PrivacyField value={privacy} onChange={setPrivacy} />
      <ModelSettingsFields provider={provider} value={settings} onChange={setSettings} />
      {refusal}
      <FormButtons submit={busy ? t.testing : t.saveAndTest} disabled={busy} cancel={t.cancel} onCancel={onCancel} />
    </Form>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "";
}
