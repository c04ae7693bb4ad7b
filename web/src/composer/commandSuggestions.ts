// Commands of the page that a slash may become, and what each takes.

import { useQueryClient } from "@tanstack/react-query";
import { choicesOf, foundBy } from "../models/choices";
import { useProviders, useRoles } from "../state/queries";
import { t } from "../texts/composer";
import { COMMANDS, type CommandName, type CompletionContext, WITH_ARGUMENT } from "./inputSyntax";
import type { Suggestion } from "./Suggestions";

const MOST = 12;
export const FORMATS = ["markdown", "json", "html"] as const;

/** `run` does it; `write` puts words into the field. */
export function useCommandSuggestions(
  typed: CompletionContext | null,
  run: (command: CommandName, text: string) => void,
  write: (words: string) => void,
): readonly Suggestion[] {
  const options = useArguments(typed?.kind === "argument" ? typed.command : null);
  if (typed?.kind === "command") {
    const commands = COMMANDS.filter((name) => name.startsWith(typed.text)).map((name) => ({
      key: name,
      label: `/${name}`,
      about: t.commands[name],
      choose: () => run(name, ""),
      complete: () => write(WITH_ARGUMENT.includes(name) ? `/${name} ` : `/${name}`),
    }));
    if (!"expect".startsWith(typed.text)) return commands;
    // A line of the message, which the server reads.
    const begin = () => write("/expect ");
    return [...commands, { key: "expect", label: "/expect", about: t.expect, choose: begin, complete: begin }];
  }
  if (typed?.kind !== "argument") return [];
  return foundBy(
    typed.text,
    options.map((id) => ({ id, provider: "" })),
  )
    .slice(0, MOST)
    .map(({ id }) => ({
      key: id,
      label: id,
      about: "",
      choose: () => run(typed.command, id),
      complete: () => write(`/${typed.command} ${id}`),
    }));
}

function useArguments(command: CommandName | null): readonly string[] {
  const roles = useRoles();
  const { data: providers = [] } = useProviders();
  const queries = useQueryClient();
  switch (command) {
    case "role":
      return roles.map(({ name }) => name);
    case "export":
      return FORMATS;
    case "model": {
      // what the picker has asked the servers for is listed here too; typing asks nobody
      const listed = providers.map(({ name }) => [
        name,
        queries.getQueryData<{ models: string[] }>(["models of", name])?.models ?? [],
      ]);
      return choicesOf(providers, Object.fromEntries(listed)).map(({ id }) => id);
    }
    default:
      return [];
  }
}
