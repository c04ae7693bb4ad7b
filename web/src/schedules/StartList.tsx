// What the lists of schedules and of triggers share: the list, the dialog of one, and what it may start.

import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Ground, useWorkflows } from "../state/queries";
import { t } from "../texts/schedules";
import { Dialog } from "../ui/Dialog";
import { StartForm } from "./StartForm";
import { type Startable, type Startee, useTemplates } from "./startables";

interface ListedProps<Item> {
  items: readonly Item[] | undefined;
  label: string;
  none: string;
  children: (item: Item) => ReactNode;
}

export function Listed<Item>({ items, label, none, children }: ListedProps<Item>) {
  if (items?.length === 0) return <p className="text-sm text-ink-3">{none}</p>;
  if (!items) return null;
  return (
    <ul aria-label={label} className="divide-y divide-line rounded-2xl border border-line bg-surface">
      {items.map(children)}
    </ul>
  );
}

interface EditingProps {
  edited: Startable | "new" | null;
  trigger: boolean;
  onSave: (body: object) => Promise<unknown>;
  onDone: () => void;
}

export function Editing({ edited, trigger, onSave, onDone }: EditingProps) {
  const startees = useStartees(groundOf(edited), edited !== null);
  if (edited === null || startees === null) return null;
  const title = edited === "new" ? (trigger ? t.addTrigger : t.addSchedule) : edited.name;
  return (
    <Dialog title={title} open onClose={onDone} wide>
      <StartForm
        item={edited === "new" ? null : edited}
        trigger={trigger}
        startees={startees}
        onSave={onSave}
        onDone={onDone}
      />
    </Dialog>
  );
}

/** Where its runs are; a new one's are in the default folder. */
function groundOf(edited: Startable | "new" | null): Ground {
  if (edited === null || edited === "new") return { workspace: null };
  return edited.context_id === null ? { workspace: edited.workspace } : { chatId: edited.context_id };
}

/** What can be started there; null until it is known. */
function useStartees(ground: Ground, wanted: boolean): readonly Startee[] | null {
  const { data: found } = useWorkflows(ground, wanted);
  const { data: templates } = useTemplates();
  if (!found || !templates) return null;
  const workflows = found.workflows.filter(({ trusted }) => trusted);
  return [
    ...workflows.map(({ name, parameters }) => ({ key: `workflow:${name}`, name, parameters })),
    ...templates.map(({ name, parameters }) => ({ key: `template:${name}`, name, parameters })),
  ];
}

/** Waits for what is asked, and shows the list as it then is. */
export function useAgain(key: readonly string[]) {
  const queries = useQueryClient();
  return async <T,>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } finally {
      await queries.invalidateQueries({ queryKey: [...key] });
    }
  };
}
