import { useState } from "react";
import { t } from "../texts/settings";
import { wantsFocus } from "../ui/Dialog";
import { Field, INPUT } from "../ui/Field";
import { Form, FormButtons, TextField } from "../ui/Form";
import { useRefusal } from "../ui/refusal";
import type { Preset } from "../wire/nouns";
import { AddressField, addressIn, CONNECTION_FIELDS, KeyField, ModelsField, nameIn, namesIn } from "./ProviderFields";

export interface NewProvider {
  name: string;
  kind: "openai" | "anthropic";
  base_url: string;
  api_key?: string;
  models?: string[];
}

const CUSTOM: Preset = {
  name: "",
  title: t.anotherOpenaiCompatibleServer,
  kind: "openai",
  base_url: "",
  key_url: null,
  needs_key: false,
};

/** A well-known server or an address, and its key. The key goes to the server once and is never shown again. */
export function ProviderForm({
  presets,
  busy,
  framed = true,
  onConnect,
  onCancel,
}: {
  presets: readonly Preset[];
  busy: boolean;
  /** A dialog has a frame already. */
  framed?: boolean;
  /** Throws what is refused: the form says it, at the field where it can. */
  onConnect: (provider: NewProvider) => Promise<unknown>;
  onCancel: () => void;
}) {
  const [preset, setPreset] = useState<Preset>(presets[0] ?? CUSTOM);
  const [name, setName] = useState(preset.name);
  const [url, setUrl] = useState(preset.base_url);
  const [key, setKey] = useState("");
  const [models, setModels] = useState("");
  const choose = (chosen: string) => {
    const found = presets.find((each) => each.name === chosen) ?? CUSTOM;
    setPreset(found);
    setName(found.name);
    setUrl(found.base_url);
  };
  const [attempt, refusal, faultAt] = useRefusal(CONNECTION_FIELDS);
  const submit = () => {
    const named = namesIn(models);
    void attempt(
      onConnect({
        name: nameIn(name),
        kind: preset.kind,
        base_url: addressIn(url),
        ...(key.trim() ? { api_key: key.trim() } : {}),
        ...(named.length > 0 ? { models: named } : {}),
      }),
    );
  };
  return (
    <Form label={t.connectAModel} onSubmit={submit} {...(framed ? {} : { className: "space-y-3" })}>
      <Field label={t.server}>
        <select
          ref={wantsFocus}
          autoFocus
          value={preset.name}
          onChange={({ target }) => choose(target.value)}
          className={INPUT}
        >
          {[...presets, CUSTOM].map(({ name: id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      <KeyField
        label={t.apiKey}
        hint={preset.needs_key ? t.storedForYouAloneNever : t.emptyIfItNeedsNone}
        required={preset.needs_key}
        fault={faultAt("key")}
        value={key}
        onChange={setKey}
      />
      {preset.key_url && (
        <p className="text-sm text-ink-2">
          {t.getAKeyAt}{" "}
          <a
            href={preset.key_url}
            target="_blank"
            rel="noopener noreferrer"
            className="underline underline-offset-2 hover:text-ink"
          >
            {new URL(preset.key_url).host}
          </a>
          .
        </p>
      )}
      <AddressField fault={faultAt("address")} value={url} onChange={setUrl} />
      <TextField
        label={t.name}
        hint={t.oneWordSuchAsOffice}
        fault={faultAt("name")}
        required
        value={name}
        onChange={setName}
        onBlur={() => setName(nameIn(name))}
      />
      <ModelsField fault={faultAt("models")} value={models} onChange={setModels} />
      {refusal}
      <FormButtons submit={busy ? t.testing : t.connectAndTest} disabled={busy} cancel={t.cancel} onCancel={onCancel} />
    </Form>
  );
}
