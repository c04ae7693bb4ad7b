// What the editors of roles and workflows share: one thing is open, or the list of all is shown.
import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { t } from "../texts/definitions";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/outcomes";
import { DeleteDialog } from "./DeleteDialog";

/** A built-in definition to look at, or a draft to write. */
export type Opened<Page, Draft> = { view: Page } | { draft: Draft } | null;

interface Definitions<Page> {
  queryKey: string;
  read: (name: string) => Promise<Page>;
  remove: (name: string) => Promise<unknown>;
}

export function useDefinitionEditor<Page, Draft>({ queryKey, read, remove }: Definitions<Page>) {
  const [opened, setOpened] = useState<Opened<Page, Draft>>(null);
  const [returned, setReturned] = useState(false); // the focus goes back to the list
  const [deleting, setDeleting] = useState<string | null>(null);
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: [queryKey] });
  const open = (next: Opened<Page, Draft>) => {
    setReturned(next === null);
    setOpened(next);
  };
  return {
    opened,
    returned,
    deleting,
    setDeleting,
    open,
    close: () => open(null),
    show: (name: string, as: (page: Page) => Opened<Page, Draft>) => void attempt(read(name).then(as).then(open)),
    saved: () => {
      open(null);
      refresh();
    },
    remove: async (name: string) => {
      setDeleting(null);
      if (await attempt(remove(name))) say(t.deleted(name));
      refresh();
    },
  };
}

interface ListProps {
  editor: Pick<ReturnType<typeof useDefinitionEditor>, "returned" | "deleting" | "setDeleting" | "remove">;
  /** The rows. */
  children: ReactNode;
  /** What stands below them. */
  below?: ReactNode;
  create: string;
  onCreate: () => void;
  titleOf?: (name: string) => string;
  deleteAbout: string;
}

export function DefinitionList(props: ListProps) {
  const { editor, children, below, create, onCreate, titleOf = (name) => name, deleteAbout } = props;
  const { returned, deleting, setDeleting, remove } = editor;
  return (
    <div className="space-y-3">
      <ul className="divide-y divide-line overflow-hidden rounded-2xl empty:hidden border border-line bg-surface">
        {children}
      </ul>
      {below}
      <Button autoFocus={returned} icon={<Plus size={15} aria-hidden />} onClick={onCreate}>
        {create}
      </Button>
      {deleting && (
        <DeleteDialog
          name={titleOf(deleting)}
          about={deleteAbout}
          onDelete={() => void remove(deleting)}
          onClose={() => setDeleting(null)}
        />
      )}
    </div>
  );
}

interface ViewProps {
  label: string;
  /** The heading, and what is said above the text. */
  children: ReactNode;
  text: string;
  textLabel: string;
  onDuplicate: () => void;
  onBack: () => void;
}

export function DefinitionView({ label, children, text, textLabel, onDuplicate, onBack }: ViewProps) {
  return (
    <section aria-label={label} className="space-y-3 rounded-2xl border border-line bg-surface p-4">
      {children}
      <pre
        tabIndex={0}
        aria-label={textLabel}
        className="max-h-[60vh] overflow-y-auto rounded-lg bg-sunken p-3 font-mono text-[13px] leading-relaxed whitespace-pre-wrap"
      >
        {text}
      </pre>
      <div className="flex flex-wrap gap-2">
        <Button autoFocus onClick={onBack}>
          {t.back}
        </Button>
        <Button look="quiet" onClick={onDuplicate}>
          {t.duplicateIt}
        </Button>
      </div>
    </section>
  );
}
