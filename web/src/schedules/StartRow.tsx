// One schedule or trigger: what it starts and when, how its last run ended, and what can be done with it.

import { Pencil, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { dayAndTime } from "../texts/language";
import { t } from "../texts/schedules";
import { IconButton } from "../ui/Button";
import { Checkbox } from "../ui/Field";
import { May } from "../ui/May";
import { Outcomes } from "../ui/Outcomes";
import type { Operation } from "../wire/scopes";
import { outcomeOf, type Startable } from "./startables";

interface Props {
  item: Startable;
  when: string;
  changing: Operation;
  removing: Operation;
  onEnable: (on: boolean) => void;
  onEdit: () => void;
  onRemove: () => void;
  /** Further buttons. */
  children: ReactNode;
}

export function StartRow({ item, when, changing, removing, onEnable, onEdit, onRemove, children }: Props) {
  const { name, workflow, template, enabled, paused, starts } = item;
  return (
    <li aria-label={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 text-sm">
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-medium break-words">{name}</p>
        <p className="text-xs break-words text-ink-3">
          {workflow ?? template} · {when}
        </p>
        <LastRun item={item} />
        {paused && <p className="text-xs break-words text-warn">{t.paused(paused)}</p>}
        {starts[0]?.error && <p className="text-xs break-words text-warn">{starts[0].error}</p>}
      </div>
      <div className="flex items-center gap-1">
        <May needs={changing}>
          <Checkbox label={t.enabled} name={t.enabledOf(name)} on={enabled} onTurn={onEnable} />
        </May>
        {children}
        <IconButton needs={changing} label={t.edit(name)} onClick={onEdit}>
          <Pencil size={15} aria-hidden />
        </IconButton>
        <IconButton needs={removing} label={t.remove(name)} onClick={onRemove} className="hover:!text-bad">
          <Trash2 size={15} aria-hidden />
        </IconButton>
      </div>
      <Outcomes className="basis-full" />
    </li>
  );
}

function LastRun({ item: { starts } }: { item: Startable }) {
  const [last] = starts;
  if (!last) return <p className="text-xs text-ink-3">{t.noRuns}</p>;
  const { words, link } = outcomeOf(last);
  return (
    <p className="text-xs text-ink-2">
      {t.lastRun(dayAndTime(new Date(last.due_at)))}{" "}
      {link ? (
        <a href={link} className="underline underline-offset-2">
          {words}
        </a>
      ) : (
        words
      )}
    </p>
  );
}
