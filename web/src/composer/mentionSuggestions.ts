// What @ may name: files and folders, symbols, resources of MCP servers, checkpoints. Asked for while one types.

import { useQuery } from "@tanstack/react-query";
import { useSnapshots } from "../snapshots/acts";
import { changesOf, stretchesOf } from "../snapshots/changes";
import { useFilesByName } from "../state/filesByName";
import { useLive } from "../state/live";
import { t } from "../texts/composer";
import { clock } from "../ui/times";
import { api, given } from "../wire/client";
import { mention } from "./inputSyntax";
import type { Suggestion } from "./Suggestions";

const MOST = 10;
const KINDS = ["symbol:", "mcp:", "checkpoint:"] as const;
const ID_LETTERS = 18; // of a checkpoint: its time, to the millisecond and beyond
const LEAST_LETTERS = 2;

/** `put` writes a mention in the place of what is typed, with a space after it unless it goes on. */
export function useMentionSuggestions(
  chatId: string,
  text: string | null,
  put: (text: string, goesOn?: boolean) => void,
): readonly Suggestion[] {
  const kind = KINDS.find((name) => text?.startsWith(name)) ?? null;
  const rest = text === null ? "" : text.slice(kind?.length ?? 0);
  const files = useFilesByName(text !== null && kind === null ? chatId : null, rest, MOST);
  const symbols = useSymbols(chatId, rest, (text !== null && kind === "symbol:") || (kind === null && long(text)));
  const resources = useResources(kind === "mcp:" || (kind === null && long(text)));
  const checkpoints = useCheckpoints(chatId, kind === "checkpoint:" || (kind === null && long(text)));
  if (text === null) return [];
  const one = (key: string, words: string, about: string, goesOn = false): Suggestion => ({
    key: `${key} ${words}`,
    label: words,
    about,
    choose: () => put(words, goesOn),
  });
  const has = (words: string) => words.toLowerCase().includes(rest.toLowerCase());
  const found = [
    ...files.map(({ path, kind: is, shown }) =>
      one(path, mention(is, path), is === "folder" ? t.folder : shown === path ? t.file : shown),
    ),
    ...symbols.map(({ name, kind: is, path, line }) =>
      one(`${path}:${line}`, mention("symbol", name), `${is}, ${path}:${line}`),
    ),
    ...resources
      .filter(({ server, uri, name }) => has(`${server}:${uri} ${name}`))
      .map(({ server, uri, name }) => one(uri, mention("mcp", `${server}:${uri}`), name)),
    ...checkpoints
      .filter(({ id, about }) => has(`checkpoint:${id} ${about}`))
      .map(({ id, about }) => one(id, mention("checkpoint", id.slice(0, ID_LETTERS)), about)),
  ];
  const more = kind === null ? KINDS.filter((name) => name.startsWith(text)) : [];
  const each = new Map(
    [...found.slice(0, MOST), ...more.map((name) => one(name, `@${name}`, t.kinds[name], true))].map((it) => [
      it.key,
      it,
    ]),
  );
  return [...each.values()];
}

function long(text: string | null): boolean {
  return (text ?? "").length >= LEAST_LETTERS;
}

function useSymbols(chatId: string, q: string, wanted: boolean) {
  const asked = wanted && /^[\p{L}\p{N}_$]+$/u.test(q);
  const { data } = useQuery({
    queryKey: ["symbols", chatId, q],
    queryFn: async () => {
      const params = { path: { chat_id: chatId }, query: { q, limit: 5 } };
      return (await given(api.GET("/context/{chat_id}/symbols", { params }))).results;
    },
    enabled: asked,
    staleTime: 10_000,
    gcTime: 30_000,
    retry: false,
  });
  return asked ? (data ?? []) : [];
}

/** The newest changes of this chat, by what the person had asked for. */
function useCheckpoints(chatId: string, wanted: boolean): { id: string; about: string }[] {
  const view = useLive((live) => live.view);
  const { snapshots } = useSnapshots(chatId, wanted, view?.news ?? 0);
  if (!wanted || view?.id !== chatId) return [];
  return stretchesOf(changesOf(snapshots), view.messages).flatMap(({ asked, changes }) =>
    changes.map(({ before, after }) => {
      const { id, created_at, files, additions, deletions } = after ?? before;
      return { id, about: t.checkpointAbout(clock(created_at), files, additions, deletions, asked.slice(0, 80)) };
    }),
  );
}

function useResources(wanted: boolean) {
  const { data } = useQuery({
    queryKey: ["mcp resources"],
    queryFn: async () => (await given(api.GET("/mcp/resources"))).resources,
    enabled: wanted,
    staleTime: 10_000,
    retry: false,
  });
  return wanted ? (data ?? []).filter(({ template }) => !template) : [];
}
