// The workflows that can be run: built-in ones to look at and duplicate, a person's own to change and delete.
import { useWorkflows } from "../state/queries";
import { t } from "../texts/definitions";
import { DefinitionList, DefinitionView, type Opened, useDefinitionEditor } from "./DefinitionEditor";
import { RowButtons } from "./RowButtons";
import { WorkflowForm } from "./WorkflowForm";
import { deleteWorkflow, readWorkflow, type WorkflowDraft, type WorkflowPage } from "./workflowDraft";

type OpenedWorkflow = Opened<WorkflowPage, WorkflowDraft>;
const KIND = { queryKey: "workflows", read: readWorkflow, remove: deleteWorkflow };

export function WorkflowEditor() {
  const { data } = useWorkflows({ workspace: null });
  const editor = useDefinitionEditor<WorkflowPage, WorkflowDraft>(KIND);
  const { opened, open, show, close } = editor;
  if (opened && "view" in opened) {
    const { name, content } = opened.view;
    return (
      <DefinitionView
        label={name}
        text={content}
        textLabel={t.definition}
        onDuplicate={() => open(copyOf(opened.view))}
        onBack={close}
      >
        <h3 className="font-mono text-sm font-medium">{name}</h3>
      </DefinitionView>
    );
  }
  if (opened) return <WorkflowForm initial={opened.draft} onDone={editor.saved} onCancel={close} />;
  const faults = data?.faults.map(({ path, reason }) => (
    <p key={path} className="text-sm break-words text-warn">
      {t.leftOut(path, reason)}
    </p>
  ));
  return (
    <DefinitionList
      editor={editor}
      below={faults}
      create={t.newWorkflow}
      onCreate={() => open({ draft: { name: "", content: t.starter, sha256: null } })}
      deleteAbout={t.deleteWorkflowAbout}
    >
      {(data?.workflows ?? []).map(({ name, description, source, path }) => (
        <li key={path} className="flex gap-2 px-4 py-3">
          <div className="min-w-0 flex-1">
            <p className="flex flex-wrap items-center gap-x-2">
              <span className="font-mono text-[13px] font-medium break-all">{name}</span>
              <span className="rounded-full bg-sunken px-2 py-0.5 text-xs text-ink-2">
                {t.sources[source] ?? source}
              </span>
            </p>
            <p lang={source === "built_in" ? "en" : undefined} className="mt-1 text-sm text-ink-2">
              {description}
            </p>
          </div>
          <RowButtons
            title={name}
            own={source === "data"}
            onOpen={() => show(name, (found) => (found.source === "data" ? editing(found) : { view: found }))}
            onDuplicate={() => show(name, copyOf)}
            onDelete={() => editor.setDeleting(name)}
          />
        </li>
      ))}
    </DefinitionList>
  );
}

function editing({ name, content, sha256 }: WorkflowPage): OpenedWorkflow {
  return { draft: { name, content, sha256 } };
}

function copyOf({ name, content }: WorkflowPage): OpenedWorkflow {
  return { draft: { name: t.copyOf(name), content: withoutName(content), sha256: null } };
}

/** A copy gets the name of its file. Pure. */
export function withoutName(content: string): string {
  const lines = content.split("\n");
  const end = lines.indexOf("+++", 1);
  const tables = lines.findIndex((line) => line.startsWith("["));
  const front = tables === -1 ? end : Math.min(end, tables);
  return lines.filter((line, at) => at >= front || !/^name\s*=/.test(line)).join("\n");
}
