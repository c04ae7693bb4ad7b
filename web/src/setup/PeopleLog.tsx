// Who changed what about whom, newest first: the newest hundred; `anycowork people log` has them all.

import { dayAndTime } from "../texts/language";
import { t } from "../texts/people";
import type { components } from "../wire/api.gen";

export type PeopleChange = components["schemas"]["PeopleChangeResponse"];

export function PeopleLog({ changes }: { changes: readonly PeopleChange[] }) {
  if (changes.length === 0) return null;
  return (
    <details className="rounded-2xl border border-line bg-surface text-sm">
      <summary className="cursor-pointer py-2 ps-9 pe-4 before:start-4 thumb:py-3">{t.changes}</summary>
      <ul className="divide-y divide-line border-line border-t">
        {changes.map((change) => (
          <li key={change.seq} className="flex flex-wrap gap-x-3 px-4 py-2">
            <span dir="auto" className="min-w-0 flex-1 break-words">
              {sentence(change)}
            </span>
            <time dateTime={change.at} className="text-xs text-ink-3">
              {dayAndTime(new Date(change.at))}
            </time>
          </li>
        ))}
      </ul>
      <p className="border-line border-t px-4 py-2 text-xs text-ink-3">{t.changesAbout}</p>
    </details>
  );
}

function sentence({ type, by, person, before }: PeopleChange): string {
  const who = by ?? t.theOwner;
  const { name } = person;
  if (type === "person-added") return t.added(who, name, t.levels[person.access]);
  if (type === "person-token-renewed") return t.tokenRenewed(who, name);
  if (type === "person-removed") return t.removedBy(who, name);
  const renamed = before !== null && before.name !== name ? [t.renamed(who, before.name, name)] : [];
  const changed =
    before !== null && before.access !== person.access
      ? [t.accessChanged(who, name, t.levels[before.access], t.levels[person.access])]
      : [];
  const groups = person.groups.join(", ");
  const grouped = before !== null && before.groups.join(", ") !== groups ? [t.grouped(who, name, groups)] : [];
  return [...renamed, ...changed, ...grouped].join("; ");
}
