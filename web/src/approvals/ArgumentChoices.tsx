// Which arguments of a server's tool a standing answer fixes: each can be left open, or fixed again, before the answer is given.

import { useId } from "react";
import { visible } from "../content/visible";
import { argumentWords, type RuleArguments } from "../rules/words";
import { t } from "../texts/approvals";
import { list, loose, text } from "../wire/nouns";

/** What a proposed rule fixes; null if it is not about the arguments of a server's tool. */
export function argumentsOf(rule: unknown): RuleArguments | null {
  const { arguments: written } = loose(rule);
  if (!written) return null;
  const { fixed, text: texts, open } = loose(written);
  return { fixed: loose(fixed) as RuleArguments["fixed"], text: list(texts).map(text), open: list(open).map(text) };
}

interface Props {
  /** As the server proposes it. */
  proposed: RuleArguments;
  chosen: RuleArguments;
  parameters: object;
  onChange: (chosen: RuleArguments) => void;
}

export function ArgumentChoices({ proposed, chosen, parameters, onChange }: Props) {
  const id = useId();
  const names = Object.keys(parameters);
  if (names.length === 0) return null;
  return (
    <fieldset className="col-span-2 w-full text-sm">
      <legend className="text-xs text-ink-2">{t.whatTheRuleFixes}</legend>
      <ul className="flex flex-wrap gap-x-4 gap-y-1">
        {names.map((name, at) => (
          <li key={name} className="flex min-w-0 items-center gap-1.5 thumb:min-h-11">
            <input
              id={`${id}${at}`}
              type="checkbox"
              checked={name in chosen.fixed}
              onChange={() => onChange(toggled(name, { proposed, chosen, parameters }))}
            />
            <label htmlFor={`${id}${at}`} className="min-w-0 [overflow-wrap:anywhere]">
              {visible(argumentWords(name, chosen))}
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

/** Fixes an argument to its value in this call, or leaves it open: as any plain text if the server proposes that, else as anything. */
function toggled(name: string, { proposed, chosen, parameters }: Omit<Props, "onChange">): RuleArguments {
  const without = (names: readonly string[]) => names.filter((other) => other !== name);
  const { [name]: value, ...others } = chosen.fixed;
  if (value === undefined)
    return {
      fixed: { ...others, [name]: loose(parameters)[name] } as RuleArguments["fixed"],
      text: without(chosen.text),
      open: without(chosen.open),
    };
  return proposed.text.includes(name)
    ? { fixed: others, text: [...chosen.text, name], open: chosen.open }
    : { fixed: others, text: chosen.text, open: [...chosen.open, name] };
}
