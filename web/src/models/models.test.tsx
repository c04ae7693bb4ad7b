import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { show } from "../testing/render";
import type { Provider } from "../wire/nouns";
import { choicesOf, defaultModel, factsText, foundBy, shownModel } from "./choices";
import ModelPicker from "./ModelPicker";

const providers = [
  { name: "office", kind: "openai", models: ["small"], default: true },
  { name: "guide", kind: "guide", models: [], default: false },
] as unknown as Provider[];

it("offers what is named and what the server lists, each once", () => {
  const ids = choicesOf(providers, { office: ["small", "large-2"] }).map(({ id }) => id);
  expect(ids).toEqual(["office/small", "office/large-2", "guide"]);
});

it("finds a model by parts of its name in any order", () => {
  const choices = choicesOf(providers, { office: ["large-2"] });
  expect(foundBy("2 OFFICE", choices).map(({ id }) => id)).toEqual(["office/large-2"]);
  expect(foundBy("unheard-of", choices)).toEqual([]);
});

it("names the default where a chat names no model", () => {
  expect([defaultModel(providers), defaultModel([])]).toEqual(["office/small", "…"]);
  const [office] = providers;
  expect(defaultModel([{ ...office!, default_model: "large" }])).toBe("office/large");
  expect(defaultModel([{ ...office!, models: [], default_model: "auto" }])).toBe("office/auto");
  expect(defaultModel([{ ...office!, models: [], default_model: null }])).toBe("office/auto");
});

// proves MOD-3
it("says what is known of a model, and what is not", () => {
  const price = { input: 2.5, output: 10, cached: null };
  expect(factsText({ context_tokens: 128_000, price, images: null, native_calls: null })).toBe(
    "128,000 tokens · $2.5 in, $10 out per million",
  );
  expect(factsText(undefined)).toBe("context unknown · price unknown");
});

it("keeps the marked model when a list that stands before it arrives", async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  const provider = (name: string, models: string[]) => ({ name, kind: "openai", models, images: [] });
  queries.setQueryData(["providers"], [provider("first", ["a"]), provider("second", ["b"])]);
  queries.setQueryData(["models of", "second"], { models: ["b"], facts: {} });
  queries.setQueryData(["models of", "first"], { models: [], facts: {} });
  const onChoose = vi.fn();
  show(
    <QueryClientProvider client={queries}>
      <ModelPicker model="first/a" onChoose={onChoose} onClose={() => {}} />
    </QueryClientProvider>,
  );
  await userEvent.type(screen.getByRole("combobox"), "{ArrowDown}");
  act(() => queries.setQueryData(["models of", "first"], { models: ["a", "c", "d"], facts: {} }));
  await screen.findByRole("option", { name: /first\/d/ });
  await userEvent.type(screen.getByRole("combobox"), "{Enter}");
  expect(onChoose).toHaveBeenLastCalledWith("second/b");
});

it("says of a server that chooses its model that it does, where a model's name is expected", () => {
  expect(["acme/auto", "acme/automatic", "auto"].map(shownModel)).toEqual([
    "acme (default model)",
    "acme/automatic",
    "auto",
  ]);
});
