// What a person knows of a model better than its server says: images, calls, context and price.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/settings";
import { Field, INPUT, VERBATIM } from "../ui/Field";
import { api, given } from "../wire/client";
import type { ModelSettings, Provider } from "../wire/nouns";
import { namesIn } from "./ProviderFields";

export type ModelsSettings = Readonly<Record<string, ModelSettings>>;

const NOTHING: ModelSettings = { images: null, calling: null, context_tokens: null, price: null, fallbacks: [] };

export function ModelSettingsFields({
  provider,
  value,
  onChange,
}: {
  provider: Provider;
  value: ModelsSettings;
  onChange: (value: ModelsSettings) => void;
}) {
  const models = useModelNames(provider);
  const [chosen, setModel] = useState<string | null>(null);
  const model = chosen ?? models[0];
  if (!model) return null;
  const own = value[model] ?? NOTHING;
  const set = (part: Partial<ModelSettings>) => onChange({ ...value, [model]: { ...own, ...part } });
  const price = (part: { input?: number; output?: number }) => {
    const next = { input: own.price?.input ?? 0, output: own.price?.output ?? 0, cached: null, ...part };
    set({ price: next.input || next.output ? next : null });
  };
  return (
    <fieldset className="space-y-3 rounded-lg border border-line p-3">
      <legend className="px-1 text-sm font-medium">{t.whatAModelCanDo}</legend>
      <Field label={t.model}>
        <select className={INPUT} value={model} onChange={({ target }) => setModel(target.value)}>
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </Field>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t.acceptsImages}>
          <select
            className={INPUT}
            value={String(own.images)}
            onChange={({ target }) => set({ images: target.value === "null" ? null : target.value === "true" })}
          >
            <option value="null">{t.asIsKnown}</option>
            <option value="true">{t.yes}</option>
            <option value="false">{t.no}</option>
          </select>
        </Field>
        <Field label={t.callsTools}>
          <select
            className={INPUT}
            value={own.calling ?? ""}
            onChange={({ target }) => set({ calling: (target.value || null) as ModelSettings["calling"] })}
          >
            <option value="">{t.asTheServer}</option>
            <option value="native">{t.natively}</option>
            <option value="text">{t.inText}</option>
          </select>
        </Field>
        <NumberField
          label={t.contextTokens}
          value={own.context_tokens}
          onChange={(size) => set({ context_tokens: size ? Math.round(size) : null })}
        />
        <NumberField
          label={t.priceIn}
          value={own.price?.input ?? null}
          onChange={(input) => price({ input: input ?? 0 })}
        />
        <NumberField
          label={t.priceOut}
          value={own.price?.output ?? null}
          onChange={(output) => price({ output: output ?? 0 })}
        />
        <Field label={t.goesOnWith} hint={t.whenItCannotAnswer}>
          <input
            key={model}
            className={INPUT}
            {...VERBATIM}
            placeholder={t.modelWithItsServer}
            defaultValue={(own.fallbacks as string[] | undefined)?.join(", ")}
            onChange={({ target }) => set({ fallbacks: namesIn(target.value) })}
          />
        </Field>
      </div>
    </fieldset>
  );
}

function NumberField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: number | null;
  onChange: (value: number | null) => void;
}) {
  return (
    <Field label={label}>
      <input
        type="number"
        min={0}
        step="any"
        className={INPUT}
        placeholder={t.asIsKnown}
        value={value ?? ""}
        onChange={({ target }) => onChange(target.value === "" ? null : Number(target.value))}
      />
    </Field>
  );
}

/** Those that are named here, and those that the server lists. */
function useModelNames({ name, models, model_settings }: Provider): string[] {
  const { data } = useQuery({
    queryKey: ["provider models", name],
    queryFn: () => given(api.GET("/providers/{name}/models", { params: { path: { name } } })),
    retry: false,
  });
  return [...new Set([...models, ...Object.keys(model_settings), ...(data?.models ?? [])])];
}
