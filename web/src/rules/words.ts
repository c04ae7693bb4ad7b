// A rule as a sentence. Pure.
import { visible } from "../content/visible";
import { t as approvalTexts } from "../texts/approvals";
import { t } from "../texts/rules";
import type { components } from "../wire/api.gen";
import { list, loose, text } from "../wire/nouns";

/** The arguments of a server's tool that a rule fixes or leaves open. */
export type RuleArguments = Required<components["schemas"]["ArgumentsBody"]>;

/** What kind of tool this is, as the server describes it; "other" where it is not known. */
export type KindOf = (tool: string) => string;

/** What a decision keeps for later, said once it is made; null if nothing. */
export function keptWords(rules: readonly unknown[], kindOf: KindOf): string | null {
  if (rules.length === 0) return null;
  const kept = rules.length === 1 ? t.keptAsARule : t.keptAsRules(rules.length);
  return `${kept}: ${rules.map((rule) => ruleWords(rule, kindOf(text(loose(rule)["tool"])))).join("; ")}.`;
}

/** Where a text came from, as on the card of an endorsement. */
export function originWords(origin: string): string {
  const [name = "", ...subject] = origin.split(":");
  const words = approvalTexts.origins[name as keyof typeof approvalTexts.origins];
  return words ? words(visible(subject.join(":"))) : visible(origin);
}

export function ruleWords(rule: unknown, kind = "other"): string {
  const { origin } = loose(rule);
  const sentence = callWords(rule, kind);
  return origin ? t.alsoAfterReading(sentence, originWords(text(origin))) : sentence;
}

function callWords(rule: unknown, kind: string): string {
  const { tool, resource, effect, arguments: fixed } = loose(rule);
  const name = text(tool);
  const served = SERVED.exec(text(resource));
  const say = t.sentences[text(effect)] ?? t.sentences["ask"]!;
  if (served) return servedToolWords(served, text(effect), fixed);
  const act = name === "*" ? t.acts["any"]! : name === "network" ? t.acts["connect"]! : t.acts[kind];
  const given = fixed ? ` ${ruleArgumentWords(fixed, text(effect))}` : "";
  const where = `${whereWords(text(resource), kind)}${given}`;
  return say(act ? act(where) : t.applyTool(name, where));
}

const SERVED = /^mcp:([^/*?[\]]+)\/([^#*?[\]]+)(#[0-9a-f]+|#?\*)?$/; // a tool of another server: in one version, in all, or without

/** Of a rule for one tool of a server. One that allows and says no version matches no call, and so it says. */
function servedToolWords([, server, tool, version]: RegExpExecArray, effect: string, written: unknown): string {
  const say = t.sentences[effect] ?? t.sentences["ask"]!;
  const sentence = say(t.applyServedTool(tool!, server!, ruleArgumentWords(written, effect)));
  if (version?.startsWith("#") && version !== "#*") return t.inOneVersion(sentence);
  return effect === "allow" && !version ? t.matchesNoCall(sentence) : sentence;
}

/** What a rule says of the arguments. One that asks or denies is about its fixed values alone, whatever else a call names. */
function ruleArgumentWords(written: unknown, effect: string): string {
  const fixed = Object.keys(loose(loose(written)["fixed"]));
  if (!written || effect === "allow") return allArgumentWords(written);
  const others =
    fixed.length > 0 ? [...fixed.map((name) => visible(argumentWords(name, written))), t.anythingElse] : [];
  return others.length > 0 ? t.withArguments(others.join(", ")) : t.withAnyArguments;
}

/** The arguments that a person types for a rule, one on each line; null for a rule about all of them. `name = value` fixes one, as JSON
 * or as a text, `name = any text` leaves it open for plain texts, and a name alone, or `*` for all others, for everything. */
export function typedArguments(lines: string): RuleArguments | null {
  const typed = lines.split("\n").map((line) => line.trim());
  const rule: RuleArguments = { fixed: {}, text: [], open: [] };
  for (const line of typed.filter((line) => line !== "")) {
    const [, name = line, value] = /^([^=]*[^=\s])\s*=\s*(.*)$/.exec(line) ?? [];
    if (value === undefined) rule.open.push(name);
    else if (value === t.anyText) rule.text.push(name);
    else rule.fixed[name] = jsonOrText(value);
  }
  return typed.some((line) => line !== "") ? rule : null;
}

function jsonOrText(value: string): RuleArguments["fixed"][string] {
  try {
    return JSON.parse(value) as RuleArguments["fixed"][string];
  } catch {
    return value;
  }
}

/** What a rule says of one argument: the value it fixes, or that it leaves it open. */
export function argumentWords(name: string, rule: unknown): string {
  const { fixed, text: texts } = loose(rule);
  const values = loose(fixed);
  if (name in values) return `${name} = ${JSON.stringify(values[name])}`;
  if (name === "*") return t.anythingElse;
  return list(texts).includes(name) ? t.anyTextIn(name) : t.anyValueOf(name);
}

/** A call of a server's tool that a plan names. */
export function plannedCallWords(call: unknown): string {
  const { tool, arguments: fixed, text: texts } = loose(call);
  return `${text(tool)} ${allArgumentWords({ fixed, text: texts })}`;
}

function allArgumentWords(written: unknown): string {
  if (!written) return t.withAnyArguments;
  const { fixed, text: texts, open } = loose(written);
  const names = [...Object.keys(loose(fixed)), ...list(texts).map(text), ...list(open).map(text)];
  return names.length > 0
    ? t.withArguments(names.map((name) => visible(argumentWords(name, written))).join(", "))
    : t.withoutArguments;
}

function whereWords(resource: string, kind: string): string {
  if (resource === "*" || resource === "/*" || resource === "/**")
    return kind === "run" ? t.anyCommand : FILES.includes(kind) ? t.anyFile : t.anything;
  if (kind === "run") {
    const start = /^([^*?[\]]+) \*$/.exec(resource)?.[1];
    return start ? t.commandsThatBeginWith(start) : t.quoted(resource);
  }
  const folder = /^\/([^*?[\]]+)\/\*{1,2}$/.exec(resource)?.[1];
  if (folder) return t.anyFileIn(folder);
  return /[*?[\]]/.test(resource) ? t.whatMatches(resource) : resource.replace(/^\//, "");
}

const FILES: readonly string[] = ["read", "list", "search", "find", "inspect", "create", "change", "move", "delete"];
