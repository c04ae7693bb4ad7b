// The plan of a job against what was done: one row for each task, and under it what was done outside its step.
import { TriangleAlert } from "lucide-react";
import { Inline } from "../content/Inline";
import { useToolLook } from "../content/tools";
import { visible } from "../content/visible";
import { t } from "../texts/jobs";
import { seconds } from "../ui/times";
import { type AuditedTask, costOf, useJobAudit } from "./jobs";

export function JobAudit({ jobId, moment, href }: { jobId: string; moment: number; href: (taskId: string) => string }) {
  const { data: audit, error } = useJobAudit(jobId, moment);
  return (
    <section aria-labelledby="job-audit">
      <h2 id="job-audit" className="font-semibold">
        {t.audit}
      </h2>
      <p className="mt-1 mb-2 text-sm text-ink-2">{t.auditHint}</p>
      {error && <p className="text-sm text-bad">{t.auditFailed}</p>}
      {audit && (
        <div tabIndex={0} role="group" aria-label={t.tasks} className="overflow-x-auto rounded-2xl border border-line">
          <table className="w-full min-w-[44rem] text-left text-sm">
            <thead className="text-xs text-ink-3">
              <tr>
                {[t.task, t.agent, t.status, t.files, t.commands, t.time, t.cost].map((title) => (
                  <th key={title} scope="col" className="px-3 py-2 font-medium">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {audit.steps.map((step) => (
                <TaskRows key={step.id} step={step} href={href(step.id)} />
              ))}
            </tbody>
            {audit.usage && (
              <tfoot className="border-t border-line-strong font-medium">
                <tr>
                  <th scope="row" colSpan={5} className="px-3 py-2 font-medium">
                    {t.total}
                  </th>
                  <td className="px-3 py-2 tabular-nums">{seconds(audit.usage.seconds)}</td>
                  <td className="px-3 py-2 tabular-nums">{costOf(audit.usage)}</td>
                </tr>
              </tfoot>
            )}
          </table>
        </div>
      )}
    </section>
  );
}

function Unplanned({ call }: { call: AuditedTask["unplanned"][number] }) {
  const { did } = useToolLook(String(call["tool"]));
  return <Note words={t.unplanned(`${did} ${String(call["resource"] ?? "")}`)} />;
}

function Note({ words }: { words: string }) {
  return (
    <p className="mt-1 flex items-start gap-1.5 text-xs text-warn">
      <TriangleAlert size={13} aria-hidden className="mt-0.5 shrink-0" />
      <span className="min-w-0 break-words">{visible(words)}</span>
    </p>
  );
}

function TaskRows({ step, href }: { step: AuditedTask; href: string }) {
  return (
    <tr className="border-t border-line align-top">
      <th scope="row" className="max-w-72 px-3 py-2 font-normal">
        <a href={href} dir="auto" className="break-words underline-offset-2 hover:underline">
          <Inline text={String(step.intended["action"] ?? step.id)} />
        </a>
        {step.unplanned.map((call, at) => (
          <Unplanned key={at} call={call} />
        ))}
        {step.untouched.map((path) => (
          <Note key={path} words={t.untouched(path)} />
        ))}
      </th>
      <td className="px-3 py-2">{step.agent ?? "–"}</td>
      <td className="px-3 py-2 whitespace-nowrap">{statusWords(step)}</td>
      <Names names={step.files} leftOut={step.left_out} />
      <Names names={step.commands} />
      <td className="px-3 py-2 whitespace-nowrap tabular-nums">{step.usage ? seconds(step.usage.seconds) : "–"}</td>
      <td className="px-3 py-2 tabular-nums">{step.usage ? costOf(step.usage) : "–"}</td>
    </tr>
  );
}

/** A task that was undone, or of which the review kept nothing, is neither done nor proved. */
function statusWords({ status, files, left_out, undone_by }: AuditedTask): string {
  if (undone_by) return t.stepStatuses["undone"]!;
  if (files.length > 0 && left_out.length === files.length) return t.leftOut;
  return t.stepStatuses[status] ?? status;
}

function Names({ names, leftOut = [] }: { names: readonly string[]; leftOut?: readonly string[] }) {
  return (
    <td className="max-w-56 px-3 py-2">
      {names.length === 0 && "–"}
      {names.map((name, at) => (
        <code key={`${at} ${name}`} className="mt-0.5 block font-mono text-xs break-all">
          {visible(name)}
          {leftOut.includes(name) && <span className="ml-1 font-sans text-warn">({t.leftOut})</span>}
        </code>
      ))}
    </td>
  );
}
