import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Download, Trash2, X } from "lucide-react";
import { ServerText } from "../content/ServerText";
import { bytesText } from "../texts/language";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type Model = components["schemas"]["LocalModelResponse"];

const WATCHED = 1_000; // ms between two looks while something is on its way
const SELDOM = 30_000;

export function LocalModels() {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ["local-models"],
    queryFn: () => given(api.GET("/models/local")),
    refetchInterval: ({ state }) => (state.data?.models.some((model) => model.state === "pulling") ? WATCHED : SELDOM),
  });
  if (!data) return null;
  const act = async (wish: Promise<unknown>) => {
    await attempt(wish);
    await Promise.all(["local-models", "providers"].map((key) => queries.invalidateQueries({ queryKey: [key] })));
  };
  return (
    <div className="space-y-3">
      {data.engine.hint && <MissingEngine hint={data.engine.hint} />}
      <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface">
        {data.models.map((model) => (
          <ModelLine
            key={model.name}
            model={model}
            onPull={() => void act(given(api.POST("/models/local/{name}/pull", asked(model))))}
            onCancel={() => void act(given(api.POST("/models/local/{name}/cancel", asked(model))))}
            onRemove={() =>
              void act(given(api.DELETE("/models/local/{name}", { params: { path: { name: model.name } } })))
            }
          />
        ))}
      </ul>
    </div>
  );
}

function MissingEngine({ hint }: { hint: string }) {
  const command = hint.replace(/^Run: /, "");
  return (
    <div className="text-sm">
      <p className="mb-1 text-warn">{t.engineIsNotInstalled}</p>
      <div className="flex items-center gap-1 rounded-lg border border-line bg-sunken pl-3">
        <code className="min-w-0 flex-1 py-2 font-mono text-[13px] break-all">{command}</code>
        <Copy text={command} label={t.copyTheCommand} />
      </div>
    </div>
  );
}

function asked({ name }: Model) {
  return { params: { path: { name } } };
}

export function ModelLine({
  model,
  onPull,
  onCancel,
  onRemove,
}: {
  model: Model;
  onPull: () => void;
  onCancel: () => void;
  onRemove: () => void;
}) {
  return (
    <li className="px-4 py-3.5">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{model.title}</span>
        <span className="text-sm text-ink-2">{inWords(model)}</span>
        <span className="ml-auto">
          {model.state === "pulling" ? (
            <Button look="quiet" icon={<X size={15} aria-hidden />} onClick={onCancel}>
              {t.cancel}
            </Button>
          ) : model.state === "ready" ? (
            <Button look="quiet" icon={<Trash2 size={15} aria-hidden />} onClick={onRemove}>
              {t.remove2}
            </Button>
          ) : (
            <Button icon={<Download size={15} aria-hidden />} onClick={onPull}>
              {model.fetched_bytes > 0 ? t.goOn : t.fetch}
            </Button>
          )}
        </span>
      </div>
      {model.state === "pulling" && (
        <progress
          className="mt-2 w-full"
          aria-label={t.howMuchIsHere(model.title)}
          max={1}
          value={model.progress ?? 0}
        />
      )}
      {model.error && (
        <p lang="en" className="mt-1 text-sm text-warn">
          {model.error}
        </p>
      )}
      <p className="mt-1 text-sm text-ink-2">
        <ServerText english={model.limits} />
      </p>
      <p className="mt-1 text-xs text-ink-3">
        {t.onDiskOfMemoryWhile(bytesText(model.size_bytes), bytesText(model.memory_bytes), model.licence)}
      </p>
      <Outcomes className="mt-2" />
    </li>
  );
}

function inWords(model: Model): string {
  switch (model.state) {
    case "absent":
      return model.fetched_bytes > 0 ? t.fetched(Math.floor((model.progress ?? 0) * 100)) : t.notFetched;
    case "pulling":
      return `${Math.floor((model.progress ?? 0) * 100)} %`;
    case "ready":
      return model.loaded ? t.inMemory : t.ready;
    case "failed":
      return t.couldNotBeFetched;
  }
}
