import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { Check, CircleAlert, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Inline } from "../content/Inline";
import { ModelButton } from "../models/ModelButton";
import * as acts from "../state/acts";
import { usePresets, useProviders } from "../state/queries";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import type { Provider } from "../wire/nouns";
import { type ProviderChange, ProviderEdit } from "./ProviderEdit";
import { type NewProvider, ProviderForm } from "./ProviderForm";

export function Providers() {
  const { data: providers = [] } = useProviders();
  const { data: presets = [] } = usePresets();
  const [adding, setAdding] = useState(false);
  const [editing, setEditing] = useState<string | null>(null);
  const [testing, setTesting] = useState<string | null>(null);
  const [verdict, setVerdict] = useState<{ name: string; ok: boolean; message: string } | null>(null);
  const queries = useQueryClient();
  const readAgain = () =>
    Promise.all(["providers", "settings"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  const choose = async (model: string) => {
    await attempt(acts.changeSettings({ model }));
    await readAgain();
  };
  const test = async (name: string) => {
    setTesting(name);
    await attempt(acts.testProvider(name).then((found) => setVerdict({ name, ...found })));
    setTesting(null);
    await readAgain();
  };
  const connect = async (provider: NewProvider) => {
    setTesting(provider.name);
    await acts.connectProvider(provider).finally(() => setTesting(null));
    await readAgain(); // the test of a slow server takes a while: until then it stands in the list, with Edit and Remove
    setAdding(false);
    await test(provider.name);
  };
  const change = async (name: string, wish: ProviderChange) => {
    setTesting(name);
    await acts.changeProvider(name, wish).finally(() => setTesting(null));
    await readAgain(); // who opens the form again at once finds what was saved
    setEditing(null);
    await test(name);
  };
  const remove = async (name: string) => {
    await attempt(acts.removeProvider(name));
    setVerdict(null);
    await readAgain();
  };
  return (
    <div className="space-y-3">
      <div className="flex min-w-0 flex-wrap items-center gap-x-2 text-sm">
        <span className="text-ink-2">{t.newChatsUse}</span>
        <span className="flex min-w-0 rounded-lg border border-line-strong bg-surface">
          <ModelButton model={null} onChoose={(model) => void choose(model)} named />
        </span>
      </div>
      <ul className="divide-y divide-line overflow-hidden rounded-2xl empty:hidden border border-line bg-surface">
        {providers.map((provider) => (
          <ProviderLine
            key={provider.name}
            provider={provider}
            testing={testing === provider.name}
            onChoose={(model) => void choose(model)}
            onTest={() => void test(provider.name)}
            onRemove={provider.changeable ? () => void remove(provider.name) : null}
            onEdit={provider.changeable ? () => setEditing(provider.name) : null}
          >
            {editing === provider.name && (
              <ProviderEdit
                provider={provider}
                busy={testing !== null}
                onSave={(wish) => change(provider.name, wish)}
                onCancel={() => setEditing(null)}
              />
            )}
          </ProviderLine>
        ))}
      </ul>
      {verdict && (
        <p role="status" className={clsx("text-sm", verdict.ok ? "text-good" : "text-bad")}>
          {verdict.ok ? t.isReady(verdict.name) : `${t.didNotAnswer(verdict.name)}${verdict.message}`}
        </p>
      )}
      {adding ? (
        <ProviderForm presets={presets} busy={testing !== null} onConnect={connect} onCancel={() => setAdding(false)} />
      ) : (
        <Button icon={<Plus size={15} aria-hidden />} onClick={() => setAdding(true)}>
          {t.connectAModel}
        </Button>
      )}
    </div>
  );
}

interface LineProps {
  provider: Provider;
  testing: boolean;
  onChoose: (model: string) => void;
  onTest: () => void;
  /** null: it was found by itself, and cannot be removed here. */
  onRemove: (() => void) | null;
  onEdit: (() => void) | null;
  children: ReactNode;
}

function ProviderLine({ provider, testing, onChoose, onTest, onRemove, onEdit, children }: LineProps) {
  const ready = provider.status === "ready";
  const model =
    provider.kind === "guide"
      ? provider.name
      : provider.models[0]
        ? `${provider.name}/${provider.models[0]}`
        : provider.name;
  const hint = hintOf(provider);
  return (
    <li className="px-4 py-3.5">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{provider.name}</span>
        <span
          className={clsx(
            "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium",
            ready ? "bg-good-soft text-good" : "bg-warn-soft text-warn",
          )}
        >
          {ready ? <Check size={12} aria-hidden /> : <CircleAlert size={12} aria-hidden />}
          {t.providerStatuses[provider.status] ?? provider.status}
        </span>
        {provider.default && (
          <span className="rounded-full bg-sunken px-2 py-0.5 text-xs font-medium text-ink-2">
            {t.answersByDefault}
          </span>
        )}
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {provider.kind !== "guide" && provider.kind !== "local" && (
            <Button look="quiet" aria-label={t.test(provider.name)} disabled={testing} onClick={onTest}>
              {testing ? t.testing : t.test2}
            </Button>
          )}
          {onEdit && (
            <Button look="quiet" aria-label={t.edit(provider.name)} onClick={onEdit}>
              {t.edit2}
            </Button>
          )}
          {onRemove && (
            <Button look="quiet" aria-label={t.remove(provider.name)} onClick={onRemove}>
              {t.remove2}
            </Button>
          )}
          {!provider.default && <Button onClick={() => onChoose(model)}>{t.letItAnswerByDefault}</Button>}
        </span>
      </div>
      {provider.base_url && <p className="truncate font-mono text-xs text-ink-3">{provider.base_url}</p>}
      {hint && (
        <p lang={provider.detail ? "en" : undefined} className="mt-1 text-sm text-ink-2">
          <Inline text={hint} />
        </p>
      )}
      {provider.kind !== "guide" && provider.models.length > 0 && (
        <p className="mt-1 text-xs break-words text-ink-3">{t.models(provider.models.join(", "))}</p>
      )}
      {children}
      <Outcomes className="mt-2" />
    </li>
  );
}

const KIND_HINTS: Record<string, string> = { guide: t.guideHint, agent: t.agentHint, local: t.localHint };

/** What to do next, in the page's language; what no status tells, as why a certificate is not trusted, in the server's words. */
function hintOf({ kind, status, base_url, detail }: Provider): string {
  if (detail) return detail;
  if (KIND_HINTS[kind]) return KIND_HINTS[kind];
  switch (status) {
    case "no key":
      return t.noKeyHint;
    case "key refused":
      return t.keyRefusedHint;
    case "not tested":
      return t.notTestedHint;
    case "unreachable":
      return t.unreachableHint(base_url ?? "");
    default:
      return "";
  }
}
