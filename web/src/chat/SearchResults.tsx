// Messages that a search found: each leads to its place in its chat.
import { useMessageSearch } from "../state/search";
import { t } from "../texts/chats";
import { useAgo } from "../ui/times";
import type { SearchResult } from "../wire/nouns";

export function SearchResults({ words, onOpen }: { words: string; onOpen: () => void }) {
  const { results, hasNextPage, fetchNextPage } = useMessageSearch(words);
  if (results.length === 0) return null;
  return (
    <>
      <li className="px-3 pt-3 pb-1 text-xs font-medium text-ink-3">{t.inMessages}</li>
      {results.map((result) => (
        <Result key={`${result.context_id}/${result.message_id}`} result={result} onOpen={onOpen} />
      ))}
      {hasNextPage && (
        <li>
          <button
            type="button"
            onClick={() => void fetchNextPage()}
            className="w-full rounded-lg px-3 py-2 text-sm text-ink-2 hover:bg-surface"
          >
            {t.moreResults}
          </button>
        </li>
      )}
    </>
  );
}

function Result({ result, onOpen }: { result: SearchResult; onOpen: () => void }) {
  return (
    <li>
      <a
        href={`#/chat/${result.context_id}/${result.message_id}`}
        onClick={onOpen}
        className="block rounded-lg px-3 py-1.5 text-sm text-ink-2 hover:bg-surface/70 hover:text-ink"
      >
        <span className="flex gap-2 text-[11px] text-ink-3">
          <span dir="auto" className="min-w-0 flex-1 truncate font-medium">
            {result.title}
          </span>
          <span className="shrink-0 tabular-nums">
            {result.role === "user" ? t.you : t.agent} · {useAgo(result.created_at)}
          </span>
        </span>
        <span dir="auto" className="line-clamp-2 break-words text-[13px]">
          {fromTheMatch(result.parts).map((part, at) =>
            part.match ? (
              <mark key={at} className="rounded-sm bg-warn-soft text-ink">
                {part.text}
              </mark>
            ) : (
              part.text
            ),
          )}
        </span>
      </a>
    </li>
  );
}

const BEFORE = 24; // letters that fit before the match on a line of the list

/** A snippet whose match is among its first words: only two lines of it are shown. Pure. */
export function fromTheMatch(parts: SearchResult["parts"]): SearchResult["parts"] {
  const match = parts.findIndex((part) => part.match);
  const before = parts
    .slice(0, Math.max(0, match))
    .map(({ text }) => text)
    .join(""); // an "…" comes as a part of its own
  if (before.length <= BEFORE) return parts;
  const tail = before.slice(-BEFORE);
  return [{ text: `…${tail.slice(tail.indexOf(" ") + 1)}`, match: false }, ...parts.slice(match)];
}
