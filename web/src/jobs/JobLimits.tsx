// What a job and each of its tasks may use, and a form that raises it: a job that stopped at a limit goes on.
import { useQueryClient } from "@tanstack/react-query";
import { Gauge } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Form, FormButtons, TextField } from "../ui/Form";
import { type Job, type LimitsChange, setLimits } from "./jobs";

const NAMES = ["seconds", "tokens", "cost"] as const;
const OF = ["job", "task"] as const;
type Fields = Record<(typeof OF)[number], Record<(typeof NAMES)[number], string>>;

export function JobLimits({ job, act }: { job: Job; act: (done: Promise<void>) => Promise<boolean> }) {
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  return (
    <>
      <Button needs="PATCH /jobs/{job_id}" icon={<Gauge size={14} aria-hidden />} onClick={() => setOpen(true)}>
        {t.limits}
      </Button>
      <Dialog title={t.limits} open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && (
          <LimitsForm
            job={job}
            onCancel={() => setOpen(false)}
            onSave={(changes) =>
              void act(setLimits(job.id, changes, queries)).then((isDone) => isDone && setOpen(false))
            }
          />
        )}
      </Dialog>
    </>
  );
}

interface FormProps {
  job: Job;
  onSave: (changes: LimitsChange) => void;
  onCancel: () => void;
}

export function LimitsForm({ job, onSave, onCancel }: FormProps) {
  const before = fieldsOf(job);
  const [fields, setFields] = useState(before);
  const isValid = OF.every((of) => NAMES.every((name) => fields[of][name] === "" || isLimit(name, fields[of][name])));
  const put = (of: (typeof OF)[number], name: (typeof NAMES)[number], text: string) =>
    setFields({ ...fields, [of]: { ...fields[of], [name]: text.trim() } });
  return (
    <Form className="space-y-3" onSubmit={() => isValid && onSave(changesOf(before, fields))}>
      <p className="text-sm text-ink-2">{t.limitsHint}</p>
      {job.usage && <p className="text-sm">{t.usedSoFar(Math.round(job.usage.seconds), job.usage.tokens)}</p>}
      {OF.map((of) => (
        <fieldset key={of} className="space-y-2">
          <legend className="font-medium">{of === "job" ? t.limitsOfJob : t.limitsOfTask}</legend>
          <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
            {NAMES.map((name) => (
              <TextField
                key={name}
                label={t.limitNames[name]}
                inputMode="decimal"
                value={fields[of][name]}
                placeholder={t.noLimit}
                onChange={(text) => put(of, name, text)}
              />
            ))}
          </div>
        </fieldset>
      ))}
      <FormButtons submit={t.saveLimits} disabled={!isValid} cancel={t.back} onCancel={onCancel} />
    </Form>
  );
}

function isLimit(name: (typeof NAMES)[number], text: string): boolean {
  return Number(text) > 0 && Number.isFinite(Number(text)) && (name !== "tokens" || Number.isInteger(Number(text)));
}

function fieldsOf({ limits }: Job): Fields {
  const texts = (budget: Record<string, unknown>) =>
    Object.fromEntries(NAMES.map((name) => [name, budget[name] == null ? "" : String(budget[name])])) as Fields["job"];
  return { job: texts(limits.job), task: texts(limits.task) };
}

/** Only what was changed: a limit that somebody else raised meanwhile stays. */
function changesOf(before: Fields, fields: Fields): LimitsChange {
  const changed = (of: (typeof OF)[number]) =>
    Object.fromEntries(
      NAMES.filter((name) => fields[of][name] !== before[of][name]).map((name) => [
        name,
        fields[of][name] === "" ? null : Number(fields[of][name]),
      ]),
    );
  return { job: changed("job"), task: changed("task") } as LimitsChange;
}
