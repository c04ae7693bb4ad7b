import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { Check, CircleAlert, Plus } from "lucide-react";
import { useState } from "react";
import { Inline } from "../messages/Inline";
import * as acts from "../state/acts";
import { useProviders, useSettings } from "../state/queries";
import { Button } from "../ui/Button";
import { attempt } from "../ui/toasts";
import type { Provider } from "../wire/nouns";
import { type NewProvider, ProviderForm } from "./ProviderForm";

export function Answers() {
  const { data: providers = [] } = useProviders();
  const { data: settings } = useSettings();
  const [adding, setAdding] = useState(false);
  const queries = useQueryClient();
  const change = async (changes: Record<string, unknown>) => {
    const done = await attempt(acts.changeSettings(changes));
    await Promise.all(["providers", "settings"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    return done;
  };
  const add = async (provider: NewProvider) => {
    const named = Array.isArray(settings?.["providers"]) ? settings["providers"] : [];
    if (await change({ providers: [...named, provider] })) setAdding(false);
  };
  return (
    <div className="space-y-3">
      <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface">
        {providers.map((provider) => (
          <ProviderLine key={provider.name} provider={provider} onChoose={(model) => void change({ model })} />
        ))}
      </ul>
      {adding ? (
        <ProviderForm onAdd={(provider) => void add(provider)} onCancel={() => setAdding(false)} />
      ) : (
        <Button icon={<Plus size={15} aria-hidden />} onClick={() => setAdding(true)}>
          Add a server
        </Button>
      )}
    </div>
  );
}

function ProviderLine({ provider, onChoose }: { provider: Provider; onChoose: (model: string) => void }) {
  const ready = provider.status === "ready";
  const model = provider.kind === "guide" ? provider.name : provider.models[0] ? `${provider.name}/${provider.models[0]}` : provider.name;
  return (
    <li className="px-4 py-3.5">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{provider.name}</span>
        <span className={clsx("inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium", ready ? "bg-good-soft text-good" : "bg-warn-soft text-warn")}>
          {ready ? <Check size={12} aria-hidden /> : <CircleAlert size={12} aria-hidden />}
          {provider.status}
        </span>
        <span className="ml-auto">
          {provider.default ? (
            <span className="text-sm text-ink-2">answers by default</span>
          ) : (
            <Button onClick={() => onChoose(model)}>
              Let it answer by default
            </Button>
          )}
        </span>
      </div>
      {provider.base_url && <p className="truncate font-mono text-xs text-ink-3">{provider.base_url}</p>}
      <p className="mt-1 text-sm text-ink-2"><Inline text={provider.hint} /></p>
      {provider.kind !== "guide" && provider.models.length > 0 && <p className="mt-1 text-xs break-words text-ink-3">Models: {provider.models.join(", ")}</p>}
    </li>
  );
}
