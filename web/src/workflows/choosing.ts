// Which workflows fit what was typed, how they are grouped, and who may run one. Pure.
import type { Role, Workflow } from "../wire/nouns";

interface Group {
  name: string;
  workflows: readonly Workflow[];
}

/** What follows the slash while only a name is being typed; null if the words are no order, or are past the name. */
export function nameTyped(words: string): string | null {
  return /^\/([^\s/]*)$/.exec(words)?.[1] ?? null;
}

/** By its name from the front, then by any of its words. */
export function matching(workflows: readonly Workflow[], words: string): readonly Workflow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = workflows.filter(({ name, description, category }) => {
    const said = `${name} ${name.replaceAll("_", " ")} ${description} ${category}`.toLowerCase();
    return wanted.every((word) => said.includes(word));
  });
  const rank = ({ name }: Workflow) => (name.startsWith(wanted[0] ?? "") ? 0 : 1);
  return fits.toSorted((a, b) => rank(a) - rank(b));
}

/** In the order in which the list is read: the keys walk through it as it stands there. */
export function grouped(workflows: readonly Workflow[]): readonly Group[] {
  const names = [...new Set(workflows.map(({ category }) => category))].toSorted();
  return names.map((name) => ({ name, workflows: workflows.filter(({ category }) => category === name) }));
}

/** What it needs and this role does not grant. */
export function lacking(roles: readonly Role[], role: string, { needs }: Workflow): readonly string[] {
  const granted = roles.find(({ name }) => name === role)?.permissions;
  return granted ? needs.filter((need) => !granted.includes(need)) : [];
}

export function rolesFor(roles: readonly Role[], workflow: Workflow): readonly string[] {
  return roles.filter(({ name }) => lacking(roles, name, workflow).length === 0).map(({ name }) => name);
}
