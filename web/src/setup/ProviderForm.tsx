import { useState } from "react";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Field, INPUT } from "../ui/Field";
import type { Preset } from "../wire/nouns";

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
  onConnect,
  onCancel,
}: {
  presets: readonly Preset[];
  busy: boolean;
  onConnect: (provider: NewProvider) => void;
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
  const submit = () => {
    const named = models
      .split(",")
      .map((model) => model.trim())
      .filter(Boolean);
    onConnect({
      name: name.trim(),
      kind: preset.kind,
      base_url: url.trim(),
      ...(key.trim() ? { api_key: key.trim() } : {}),
      ...(named.length > 0 ? { models: named } : {}),
    });
  };
  return (
    <form
      className="space-y-3 rounded-2xl border border-line bg-surface p-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field label={t.server}>
        <select value={preset.name} onChange={({ target }) => choose(target.value)} className={INPUT}>
          {[...presets, CUSTOM].map(({ name: id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </Field>
      <Field label={t.apiKey} hint={preset.needs_key ? t.storedForYouAloneNever : t.emptyIfItNeedsNone}>
        <input
          type="password"
          autoComplete="off"
          required={preset.needs_key}
          value={key}
          onChange={({ target }) => setKey(target.value)}
          className={`${INPUT} font-mono`}
        />
      </Field>
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
      <Field label={t.address} hint={t.ofAnOpenaiCompatibleServer}>
        <input
          required
          type="url"
          placeholder="http://127.0.0.1:8000/v1"
          value={url}
          onChange={({ target }) => setUrl(target.value)}
          className={`${INPUT} font-mono`}
        />
      </Field>
      <Field label={t.name} hint={t.oneWordSuchAsOffice}>
        <input
          required
          pattern="[a-z0-9][a-z0-9_.\-]*"
          value={name}
          onChange={({ target }) => setName(target.value)}
          className={`${INPUT} font-mono`}
        />
      </Field>
      <Field label={t.models2} hint={t.withCommasEmptyAsksThe}>
        <input value={models} onChange={({ target }) => setModels(target.value)} className={`${INPUT} font-mono`} />
      </Field>
      <div className="flex gap-2 pt-1">
        <Button look="primary" type="submit" disabled={busy}>
          {busy ? t.testing : t.connectAndTest}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}
