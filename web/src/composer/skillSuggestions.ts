// Trusted skills that a slash at the start of a message may become.

import { useQuery } from "@tanstack/react-query";
import { type Ground, queryOf } from "../state/queries";
import { api, given } from "../wire/client";
import type { Suggestion } from "./Suggestions";

const MOST = 8;

/** Those whose name holds what is typed, the ones that begin with it first. `write` puts words into the field. */
export function useSkillSuggestions(
  ground: Ground,
  typed: string | null,
  write: (words: string) => void,
): readonly Suggestion[] {
  const query = queryOf(ground);
  const { data: skills = [] } = useQuery({
    queryKey: ["skills", query],
    queryFn: async () => (await given(api.GET("/skills", { params: { query } }))).skills ?? [],
    staleTime: 5_000,
    enabled: typed !== null,
  });
  if (typed === null) return [];
  return skills
    .filter(({ name, trusted }) => trusted && name.includes(typed))
    .toSorted((a, b) => Number(b.name.startsWith(typed)) - Number(a.name.startsWith(typed)))
    .slice(0, MOST)
    .map(({ name, description }) => ({
      key: `skill:${name}`,
      label: `/${name}`,
      about: description,
      whole: name === typed, // its name alone activates it: Enter sends it
      choose: () => write(`/${name} `),
    }));
}
