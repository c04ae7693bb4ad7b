// Workers: machines that run the commands of tasks. An invitation is shown once, as the command that the other machine runs.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Server, Trash2 } from "lucide-react";
import { useState } from "react";
import { bytesText } from "../texts/language";
import { t } from "../texts/workers";
import { Button, IconButton } from "../ui/Button";
import { INPUT, VERBATIM } from "../ui/Field";
import { Form } from "../ui/Form";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say } from "../ui/outcomes";
import { useRefusal } from "../ui/refusal";
import { ShownOnce } from "../ui/ShownOnce";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

type Worker = components["schemas"]["WorkerResponse"];

const WORKERS = ["workers"];
const LOOK_AGAIN = 5_000; // ms: workers come and go by themselves

export function Workers() {
  const queries = useQueryClient();
  const { data: workers } = useQuery({
    queryKey: WORKERS,
    queryFn: async () => (await given(api.GET("/workers"))).workers,
    refetchInterval: LOOK_AGAIN,
  });
  const [command, setCommand] = useState<string | null>(null);
  const invite = async (labels: string[]) => {
    const { token } = await given(api.POST("/workers/invites", { body: { labels } as never }));
    const offered = labels.length > 0 ? ` --labels ${labels.join(",")}` : "";
    setCommand(`anycowork worker --join ${window.location.origin} --token ${token}${offered}`);
  };
  const remove = async ({ id, host }: Worker) => {
    const path = { worker_id: id };
    if (await attempt(given(api.DELETE("/workers/{worker_id}", { params: { path } })))) say(t.removed(host));
    await queries.invalidateQueries({ queryKey: WORKERS });
  };
  return (
    <div className="space-y-3">
      {command && (
        <ShownOnce
          secret={command}
          label={t.theCommand}
          copyLabel={t.copyCommand}
          doneLabel={t.done}
          onDone={() => setCommand(null)}
        >
          {t.runThere}
        </ShownOnce>
      )}
      {workers?.length === 0 && <p className="text-sm text-ink-3">{t.none}</p>}
      {workers && workers.length > 0 && (
        <ul aria-label={t.title} className="divide-y divide-line rounded-2xl border border-line bg-surface">
          {workers.map((worker) => (
            <WorkerRow key={worker.id} worker={worker} onRemove={() => void remove(worker)} />
          ))}
        </ul>
      )}
      <InviteForm onInvite={invite} />
    </div>
  );
}

function WorkerRow({ worker, onRemove }: { worker: Worker; onRemove: () => void }) {
  const joinedOverHttp = worker.pid === null;
  const facts = [
    t.load(worker.tasks.length + worker.jobs.length),
    ...worker.labels,
    worker.processor,
    joinedOverHttp ? t.cache(bytesText(worker.cache_bytes)) : t.ofTheDatabase,
    t.since(new Date(worker.since)),
  ].filter(Boolean);
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-2 text-sm">
      <Server size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="min-w-0 flex-1">
        <span className="block truncate">{worker.host}</span>
        <span className="block text-xs text-ink-3">{facts.join(" · ")}</span>
        {worker.refused.map(({ job_id, reason }) => (
          <span key={job_id + reason} className="block text-xs text-warn">
            {t.refused(reason)}
          </span>
        ))}
      </span>
      {joinedOverHttp && (
        <IconButton label={t.remove(worker.host)} onClick={onRemove} className="hover:!text-bad">
          <Trash2 size={15} aria-hidden />
        </IconButton>
      )}
      <Outcomes className="basis-full" />
    </li>
  );
}

function InviteForm({ onInvite }: { onInvite: (labels: string[]) => Promise<void> }) {
  const [typed, setTyped] = useState("");
  const [attemptHere, refusal] = useRefusal();
  const labels = typed.split(/[\s,]+/).filter(Boolean);
  const invite = async () => {
    if (await attemptHere(onInvite(labels))) setTyped("");
  };
  return (
    <Form className="space-y-2" onSubmit={() => void invite()}>
      <div className="flex flex-wrap gap-2">
        <input
          aria-label={t.labels}
          placeholder={t.labelsExample}
          {...VERBATIM}
          maxLength={400}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          className={`${INPUT} min-w-0 flex-1`}
        />
        <Button type="submit" icon={<Server size={15} aria-hidden />}>
          {t.invite}
        </Button>
      </div>
      {refusal}
    </Form>
  );
}
