// How a request shall run as a job: how many tasks may write at once, whether changes are reviewed first, which agents race, where its plan comes from.
import { useState } from "react";
import { useRoles } from "../state/queries";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { useRefusal } from "../ui/refusal";
import { Refusal } from "../wire/client";
import { createJob, useAgents } from "./jobs";
import { PlanSource, type Source, wantedPlan } from "./PlanSource";

interface Props {
  chatId: string;
  request: string;
  onClose: () => void;
  onStarted: () => void;
}

const MOST_WRITERS = 8;

export default function NewJobDialog({ chatId, request, onClose, onStarted }: Props) {
  const [writers, setWriters] = useState(1);
  const [review, setReview] = useState(false);
  const [race, setRace] = useState<readonly string[]>([]);
  const [source, setSource] = useState<Source>({ kind: "agent" });
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState(false);
  const writing = useRoles().filter(({ permissions }) => permissions.includes("write_files"));
  const agents = (useAgents().data ?? []).filter(({ role }) => writing.some(({ name }) => name === role));
  const [attempt, refusal] = useRefusal();
  const start = async () => {
    setBusy(true);
    const wanted = {
      ...wantedPlan(source, request),
      parallel: writers,
      commit: review ? ("job" as const) : ("task" as const),
      race: [...race],
    };
    setFaults({});
    const made = createJob(chatId, wanted).catch((error: unknown) => {
      if (error instanceof Refusal) setFaults(error.faults);
      throw error;
    });
    if (await attempt(made)) onStarted();
    setBusy(false);
  };
  const choose = (name: string) => setRace(race.includes(name) ? race.filter((one) => one !== name) : [...race, name]);
  return (
    <Dialog title={t.runAsJob} open onClose={onClose}>
      <form
        className="space-y-4 text-sm"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <p className="text-ink-2">{race.length > 1 ? t.raceHint : t.newJobHint}</p>
        <blockquote
          dir="auto"
          className="max-h-32 overflow-y-auto border-l-2 border-line pl-3 break-words whitespace-pre-wrap"
        >
          {request}
        </blockquote>
        <PlanSource chatId={chatId} request={request} source={source} faults={faults} onChange={setSource} />
        <label className="flex flex-wrap items-center gap-2">
          <span className="min-w-0 flex-1">{t.writers}</span>
          <input
            type="number"
            min={1}
            max={MOST_WRITERS}
            required
            value={writers}
            disabled={race.length > 0}
            onChange={({ target }) => setWriters(target.valueAsNumber || 1)}
            className="w-20 min-h-9 thumb:min-h-11 rounded-lg border border-line-strong bg-paper px-2"
          />
        </label>
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1"
            checked={review || race.length > 0}
            disabled={race.length > 0}
            onChange={({ target }) => setReview(target.checked)}
          />
          <span>{t.reviewFirst}</span>
        </label>
        {agents.length > 1 && (
          <fieldset>
            <legend className="mb-1">{t.raceLegend}</legend>
            {agents.map(({ name }) => (
              <label key={name} className="mr-4 inline-flex min-h-9 thumb:min-h-11 items-center gap-2">
                <input type="checkbox" checked={race.includes(name)} onChange={() => choose(name)} />
                {name}
              </label>
            ))}
          </fieldset>
        )}
        {refusal}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t.back}</Button>
          <Button type="submit" look="primary" disabled={busy || race.length === 1}>
            {t.start}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
