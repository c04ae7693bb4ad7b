// The selector: a list, then the chosen one's form, or the question whether its file is trusted.

import { useState } from "react";
import { useWorkflows } from "../state/queries";
import { t } from "../texts/workflows";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { List } from "./List";
import { keyOf } from "./opening";
import { RunForm } from "./RunForm";
import { Trust } from "./Trust";

interface Props {
  chatId: string;
  workspace: string;
  role: string;
  busy: boolean;
  /** The key of the workflow to begin with; null begins with the list. */
  at: string | null;
  onSwitch: (role: string) => void;
  onStarted: () => void;
  onClose: () => void;
}

export default function Workflows({ chatId, workspace, role, busy, at, onSwitch, onStarted, onClose }: Props) {
  const { data, error } = useWorkflows({ chatId });
  const [key, setKey] = useState(at);
  const chosen = data?.workflows.find((workflow) => keyOf(workflow) === key) ?? null;
  const back = () => setKey(null);
  return (
    <Dialog title={chosen ? chosen.name : t.workflows} open onClose={onClose} wide>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error.message}
        </p>
      )}
      {!data && !error && <p className="py-3 text-sm text-ink-3">{t.reading}</p>}
      {data && !chosen && (
        <List
          workflows={data.workflows}
          faults={data.faults}
          role={role}
          onChoose={(workflow) => setKey(keyOf(workflow))}
        />
      )}
      {chosen?.trusted && (
        <RunForm
          key={keyOf(chosen)}
          chatId={chatId}
          workflow={chosen}
          role={role}
          busy={busy}
          onSwitch={onSwitch}
          onStarted={onStarted}
          onBack={back}
        />
      )}
      {chosen && !chosen.trusted && (
        <div className="space-y-4">
          <p className="text-sm text-ink-2">{t.thisWorkflowComesWithThe}</p>
          <Trust workspace={workspace} file={chosen} initiallyOpen />
          <Button look="quiet" className="-ml-3" onClick={back}>
            {t.allWorkflows}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
