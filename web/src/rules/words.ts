// A rule as a sentence. Pure.
import { visible } from "../content/visible";
import { t as approvalTexts } from "../texts/approvals";
import { t } from "../texts/rules";
import { list, loose, text } from "../wire/nouns";

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
  if (served) return say(t.applyServedTool(served[2]!, served[1]!, allArgumentWords(fixed)));
  const act = name === "*" ? t.acts["any"]! : name === "network" ? t.acts["connect"]! : t.acts[kind];
  const where = whereWords(text(resource), kind);
  return say(act ? act(where) : t.applyTool(name, where));
}

const SERVED = /^mcp:([^/]+)\/([^#*]+)#[0-9a-f]+$/; // a tool of another server, in one version

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
