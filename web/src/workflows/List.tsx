// Every workflow of this chat by category, found by a few letters and chosen with the arrow keys.

import clsx from "clsx";
import { type KeyboardEvent, useEffect, useState } from "react";
import { useRoles } from "../state/queries";
import { t } from "../texts/workflows";
import { wantsFocus } from "../ui/Dialog";
import { Fold } from "../ui/Fold";
import type { FileFault, Workflow } from "../wire/nouns";
import { grouped, lacking, matching } from "./choosing";
import { keyOf } from "./opening";

interface Props {
  workflows: readonly Workflow[];
  faults: readonly FileFault[];
  role: string;
  onChoose: (workflow: Workflow) => void;
}

export function List({ workflows, faults, role, onChoose }: Props) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const groups = grouped(matching(workflows, words));
  const found = groups.flatMap((group) => group.workflows);
  const current = found[Math.min(at, found.length - 1)];
  useEffect(() => {
    if (current) document.getElementById(idOf(current))?.scrollIntoView?.({ block: "nearest" });
  }, [current]);
  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && current) onChoose(current);
    else if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        autoFocus
        ref={wantsFocus}
        role="combobox"
        aria-expanded
        aria-controls="workflow-list"
        aria-activedescendant={current ? idOf(current) : undefined}
        aria-label={t.findAWorkflow}
        placeholder={t.findAWorkflow}
        value={words}
        onChange={({ target }) => {
          setWords(target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        className="sticky top-0 z-10 min-h-10 w-full rounded-lg border border-line-strong bg-paper px-3 text-sm placeholder:text-ink-3"
      />
      <div id="workflow-list" role="listbox" aria-label={t.workflows} className="-mx-2 mt-2">
        {groups.map(({ name, workflows: members }) => (
          <div key={name} role="group" aria-label={name}>
            <p aria-hidden className="px-2 pt-2 pb-1 text-xs font-medium text-ink-3 capitalize">
              {name}
            </p>
            {members.map((workflow) => (
              <Option
                key={keyOf(workflow)}
                workflow={workflow}
                role={role}
                current={workflow === current}
                onChoose={() => onChoose(workflow)}
              />
            ))}
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p role="status" className="py-3 text-sm text-ink-2">
          {words ? t.noWorkflowFitsTheseWords : t.thereIsNoWorkflowHere}
        </p>
      )}
      {faults.length > 0 && <Faults faults={faults} />}
      <p className="mt-3 border-t border-line pt-3 text-xs text-ink-3">
        {t.writeYourOwn} <code className="font-mono">{t.anycoworkWorkflowNewName}</code> {t.makesACommentedFileTo}{" "}
        <code className="font-mono">{t.anycoworkWorkflows}</code> {t.ofTheFolder}
      </p>
    </>
  );
}

function Option({
  workflow,
  role,
  current,
  onChoose,
}: {
  workflow: Workflow;
  role: string;
  current: boolean;
  onChoose: () => void;
}) {
  const roles = useRoles();
  const note = !workflow.trusted ? t.notTrusted : lacking(roles, role, workflow).length > 0 ? t.anotherRole : null;
  return (
    <div
      id={idOf(workflow)}
      role="option"
      aria-selected={current}
      onClick={onChoose}
      className={clsx("flex cursor-pointer items-start gap-3 rounded-lg px-2 py-2", current && "bg-sunken")}
    >
      <span className="min-w-0 flex-1">
        <span className="block font-mono text-[13px] font-medium break-all">{workflow.name}</span>
        <span lang={workflow.source === "built_in" ? "en" : undefined} className="block text-sm break-words text-ink-2">
          {workflow.description}
        </span>
      </span>
      {note && (
        <span className="mt-0.5 shrink-0 rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn">
          {note}
        </span>
      )}
    </div>
  );
}

/** Files that give no workflow: said, not shouted. */
function Faults({ faults }: { faults: readonly FileFault[] }) {
  const count = faults.length === 1 ? t.text1FileGivesNoWorkflow : t.filesGiveNoWorkflow(faults.length);
  return (
    <Fold className="mt-3 -ml-1.5" summary={count}>
      {() => (
        <ul className="space-y-1 py-1 text-sm text-ink-2">
          {faults.map(({ path, line, reason }) => (
            <li key={path} className="break-words">
              <code className="font-mono text-[13px]">{line ? `${path}:${line}` : path}</code>: {reason}
            </li>
          ))}
        </ul>
      )}
    </Fold>
  );
}

function idOf(workflow: Workflow): string {
  return `workflow-${keyOf(workflow)}`;
}
