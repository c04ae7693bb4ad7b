// Choose a model by a few letters of its name, among those that the connected servers really offer. Loaded when opened.

import { useQueries } from "@tanstack/react-query";
import clsx from "clsx";
import { Check } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { useProviders } from "../state/queries";
import { t } from "../texts/models";
import { Dialog, wantsFocus } from "../ui/Dialog";
import { INPUT, VERBATIM } from "../ui/Field";
import { May } from "../ui/May";
import { api, given } from "../wire/client";
import { choicesOf, factsText, foundBy } from "./choices";

const SHOWN = 200;

interface Props {
  model: string;
  onChoose: (model: string) => void;
  onClose: () => void;
}

export default function ModelPicker({ model, onChoose, onClose }: Props) {
  const { data: providers = [] } = useProviders();
  const { listed, facts, failed, loading } = useListed(
    providers.filter(({ kind }) => kind === "openai" || kind === "anthropic").map(({ name }) => name),
  );
  const [words, setWords] = useState("");
  const [marked, setMarked] = useState<string | null>(null); // by its name: lists that arrive later move its place
  const found = foundBy(words, choicesOf(providers, listed)).slice(0, SHOWN);
  const at = Math.max(
    0,
    found.findIndex(({ id }) => id === marked),
  );
  const choose = (id: string | undefined) => {
    if (!id) return;
    onChoose(id);
    onClose();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setMarked(found[Math.min(Math.max(0, at + step), found.length - 1)]?.id ?? null);
    else if (event.key === "Enter") choose(found[at]?.id);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t.chooseAModel} open onClose={onClose}>
      <input
        ref={wantsFocus}
        role="combobox"
        aria-expanded
        aria-controls="models-found"
        aria-activedescendant={found[at] ? `model-${at}` : undefined}
        aria-label={t.searchModels}
        placeholder={t.searchModels}
        {...VERBATIM}
        value={words}
        onKeyDown={onKey}
        onChange={({ target }) => {
          setWords(target.value);
          setMarked(null);
        }}
        className={INPUT}
      />
      <ul id="models-found" role="listbox" aria-label={t.models} className="mt-2 max-h-[45vh] overflow-y-auto">
        {found.map(({ id }, index) => (
          <li
            key={id}
            id={`model-${index}`}
            role="option"
            aria-selected={id === model}
            onClick={() => choose(id)}
            className={clsx(
              "flex min-h-9 cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1.5 text-sm thumb:min-h-11 hover:bg-sunken",
              index === at && "bg-sunken",
            )}
          >
            <span className="min-w-0 flex-1">
              <span className="break-all">{id}</span>
              {!loading && id.includes("/") && (
                <span className="block text-xs text-ink-3 tabular-nums">{factsText(facts[id])}</span>
              )}
            </span>
            {id === model && <Check size={15} aria-label={t.chosen} className="shrink-0" />}
          </li>
        ))}
      </ul>
      <p role="status" className="mt-2 text-xs text-ink-3">
        {found.length === 0 && !loading && t.noModelHasTheseWords}
        {loading && t.askingTheServersForTheir}
        {failed.length > 0 && t.didNotListItsModels(failed.join(", "))}
      </p>
      <May needs="PUT /settings">
        <a
          href="#/settings/models"
          onClick={onClose}
          className="text-sm text-ink-2 underline underline-offset-2 hover:text-ink"
        >
          {t.connectAModel}
        </a>
      </May>
    </Dialog>
  );
}

/** What each server lists now; one that does not answer is named. */
function useListed(names: readonly string[]) {
  const lists = useQueries({
    queries: names.map((name) => ({
      queryKey: ["models of", name],
      queryFn: () => given(api.GET("/providers/{name}/models", { params: { path: { name } } })),
      staleTime: 60_000,
      retry: false,
    })),
  });
  return {
    listed: Object.fromEntries(names.map((name, at) => [name, lists[at]?.data?.models ?? []])),
    facts: Object.fromEntries(
      names.flatMap((name, at) =>
        Object.entries(lists[at]?.data?.facts ?? {}).map(([model, known]) => [`${name}/${model}`, known]),
      ),
    ),
    failed: names.filter((_, at) => lists[at]?.isError),
    loading: lists.some(({ isLoading }) => isLoading),
  };
}
