// Workflows that a slash at the start of a message may become, and for the start page skills too.

import { type Suggestion, type SuggestionKeys, SuggestionList, useSuggestionKeys } from "../composer/Suggestions";
import { useSkillSuggestions } from "../composer/skillSuggestions";
import { type Ground, useWorkflows } from "../state/queries";
import { t as composer } from "../texts/composer";
import { t } from "../texts/workflows";
import type { Workflow } from "../wire/nouns";
import { matching, nameTyped } from "./choosing";
import { keyOf, openWorkflows } from "./opening";

const MOST = 8;

/** Those that fit the name that is typed. `write` puts words into the field; `open` shows the form of the one that was chosen. */
export function useWorkflowSuggestions(
  ground: Ground,
  typed: string | null,
  write: (words: string) => void,
  open = openForm,
): readonly Suggestion[] {
  const { data } = useWorkflows(ground, typed !== null);
  if (typed === null) return [];
  return matching(data?.workflows ?? [], typed)
    .slice(0, MOST)
    .map((workflow) => ({
      key: keyOf(workflow),
      label: `/${workflow.name}`,
      about: workflow.description,
      mark: workflow.trusted ? undefined : <span className="shrink-0 text-xs text-warn">{t.notTrusted}</span>,
      whole: workflow.name === typed && isComplete(workflow),
      choose: () => {
        write("");
        open(workflow);
      },
      complete: () => write(`/${workflow.name} `),
    }));
}

/** For a field that takes workflows and skills. */
export function useCompletion(
  ground: Ground,
  words: string,
  offered: boolean,
  write: (words: string) => void,
  open = openForm,
): SuggestionKeys {
  const typed = offered ? nameTyped(words) : null;
  const workflows = useWorkflowSuggestions(ground, typed, write, open);
  return useSuggestionKeys([...workflows, ...useSkillSuggestions(ground, typed, write)], words);
}

export function Completion({ shown, at }: Pick<SuggestionKeys, "shown" | "at">) {
  return <SuggestionList shown={shown} at={at} label={composer.suggestionsLabel} />;
}

function openForm(workflow: Workflow): void {
  openWorkflows(keyOf(workflow));
}

/** Its name alone is an order: Enter sends it. */
function isComplete({ parameters, trusted }: Workflow): boolean {
  return trusted && parameters.every(({ required }) => !required);
}
