// The workflows that can be run: built-in ones to look at and duplicate, a person's own to change and delete.
import { useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { useWorkflows } from "../state/queries";
import { t } from "../texts/definitions";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/toasts";
import { DeleteDialog } from "./DeleteDialog";
import { RowButtons } from "./RowButtons";
import { WorkflowForm } from "./WorkflowForm";
import { deleteWorkflow, readWorkflow, type WorkflowDraft, type WorkflowPage } from "./workflowDraft";

type Open = { kind: "view"; workflow: WorkflowPage } | { kind: "write"; draft: WorkflowDraft } | null;

export function WorkflowEditor() {
  const [open, show] = useState<Open>(null);
  const [returned, setReturned] = useState(false); // the focus goes back to the list
  const setOpen = (next: Open) => {
    setReturned(next === null);
    show(next);
  };
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: ["workflows"] });
  if (open?.kind === "view")
    return (
      <WorkflowView
        workflow={open.workflow}
        onDuplicate={() => setOpen(copyOf(open.workflow))}
        onBack={() => setOpen(null)}
      />
    );
  if (open)
    return (
      <WorkflowForm
        initial={open.draft}
        onDone={() => {
          setOpen(null);
          void again();
        }}
        onCancel={() => setOpen(null)}
      />
    );
  return <WorkflowList returned={returned} onOpen={setOpen} onChanged={() => void again()} />;
}

interface ListProps {
  returned: boolean;
  onOpen: (open: Open) => void;
  onChanged: () => void;
}

function WorkflowList({ returned, onOpen, onChanged }: ListProps) {
  const { data } = useWorkflows({ workspace: null });
  const [going, setGoing] = useState<string | null>(null);
  const show = (name: string, as: (found: WorkflowPage) => Open) =>
    void attempt(readWorkflow(name).then(as).then(onOpen));
  const remove = async (name: string) => {
    setGoing(null);
    if (await attempt(deleteWorkflow(name))) say(t.deleted(name));
    onChanged();
  };
  return (
    <div className="space-y-3">
      <ul className="divide-y divide-line overflow-hidden rounded-2xl empty:hidden border border-line bg-surface">
        {(data?.workflows ?? []).map(({ name, description, source, path }) => (
          <li key={path} className="flex gap-2 px-4 py-3">
            <div className="min-w-0 flex-1">
              <p className="flex flex-wrap items-center gap-x-2">
                <span className="font-mono text-[13px] font-medium break-all">{name}</span>
                <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-ink-2">
                  {t.sources[source] ?? source}
                </span>
              </p>
              <p className="mt-1 text-sm text-ink-2">{description}</p>
            </div>
            <RowButtons
              title={name}
              own={source === "data"}
              onOpen={() => show(name, (found) => (found.source === "data" ? editing(found) : viewing(found)))}
              onDuplicate={() => show(name, copyOf)}
              onDelete={() => setGoing(name)}
            />
          </li>
        ))}
      </ul>
      {data?.faults.map(({ path, reason }) => (
        <p key={path} className="text-sm break-words text-warn">
          {t.leftOut(path, reason)}
        </p>
      ))}
      <Button
        autoFocus={returned}
        icon={<Plus size={15} aria-hidden />}
        onClick={() => onOpen({ kind: "write", draft: { name: "", content: t.starter, sha256: null } })}
      >
        {t.newWorkflow}
      </Button>
      {going && (
        <DeleteDialog
          name={going}
          about={t.deleteWorkflowAbout}
          onDelete={() => void remove(going)}
          onClose={() => setGoing(null)}
        />
      )}
    </div>
  );
}

function WorkflowView({
  workflow,
  onDuplicate,
  onBack,
}: {
  workflow: WorkflowPage;
  onDuplicate: () => void;
  onBack: () => void;
}) {
  return (
    <section aria-label={workflow.name} className="space-y-3 rounded-2xl border border-line bg-surface p-4">
      <h3 className="font-mono text-sm font-medium">{workflow.name}</h3>
      <pre
        tabIndex={0}
        aria-label={t.definition}
        className="max-h-[60vh] overflow-y-auto rounded-lg bg-sunken p-3 font-mono text-[13px] leading-relaxed whitespace-pre-wrap"
      >
        {workflow.content}
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

function viewing(workflow: WorkflowPage): Open {
  return { kind: "view", workflow };
}

function editing({ name, content, sha256 }: WorkflowPage): Open {
  return { kind: "write", draft: { name, content, sha256 } };
}

function copyOf({ name, content }: WorkflowPage): Open {
  return { kind: "write", draft: { name: t.copyOf(name), content: withoutName(content), sha256: null } };
}

/** A copy gets the name of its file. Pure. */
export function withoutName(content: string): string {
  const lines = content.split("\n");
  const end = lines.indexOf("+++", 1);
  const tables = lines.findIndex((line) => line.startsWith("["));
  const front = tables === -1 ? end : Math.min(end, tables);
  return lines.filter((line, at) => at >= front || !/^name\s*=/.test(line)).join("\n");
}
