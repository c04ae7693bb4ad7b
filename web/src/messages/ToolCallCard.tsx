// One call in one line: what was done to what, and how it ended. Parameters, result and diff open on demand; what a call prints shows while it runs.

import { ShieldCheck } from "lucide-react";
import { coveredBy } from "../autonomy/levels";
import { DiffCount } from "../content/DiffView";
import { isPartial, readDiff } from "../content/diffs";
import { Output } from "../content/Output";
import { PathButton } from "../content/PathLink";
import { type CallStanding, StatusMark } from "../content/StatusMark";
import { useToolLook } from "../content/tools";
import { useDecider } from "../state/author";
import { useMe, useWording, type Wording } from "../state/me";
import type { Done } from "../state/rows";
import { useToolDisplay } from "../state/tools";
import { t } from "../texts/messages";
import { t as people } from "../texts/people";
import { Fold } from "../ui/Fold";
import { seconds } from "../ui/times";
import { newErrorsOf, ToolResultCard } from "./ToolResultCard";

function sentence(standing: CallStanding, wording: Wording, shared: boolean): string {
  switch (standing) {
    case "running":
      return t.noResultYet;
    case "waiting":
      return wording(t.waitingForYourDecision, people.readers.waitingForADecision);
    case "allowed":
      return t.allowedItRunsWhenThe;
    case "denied":
      return shared ? t.itWasDenied : t.youDeniedIt;
    default: {
      const unreachable: never = standing;
      return unreachable;
    }
  }
}

function JobLink({ jobId }: { jobId: string }) {
  return (
    <a href={`#/jobs/${jobId}`} className="shrink-0 px-2 text-xs text-ink-2 underline underline-offset-2">
      {t.seeItsJob}
    </a>
  );
}

interface Props {
  done: Done;
  standing: CallStanding;
  /** Who decided it while other calls of its batch wait; empty for the owner. */
  decidedBy?: string;
}

export function ToolCallCard({ done, standing, decidedBy = "" }: Props) {
  const { call, result, output, seconds: took } = done;
  const { Icon, does, did, subjectOf, pathOf } = useToolLook(call.tool);
  const path = pathOf(call.parameters);
  const diff = result?.diff ? readDiff(result.diff) : null;
  const denied = standing === "denied" || result?.status === "denied";
  const { kind } = useToolDisplay(call.tool);
  const hasJob = kind === "ask" && (result ? !denied : standing === "running"); // its task is a job with the call's id
  const decider = useDecider(result ?? (denied ? { status: "denied", facts: { decided_by: decidedBy } } : null));
  const shared = useMe().shared;
  const wording = useWording();
  const covered = result ? coveredBy(result.facts) : null;
  const errors = newErrorsOf(result?.facts["diagnostics"])?.count ?? 0;
  return (
    <>
      <Fold
        name={`call ${call.id}`}
        beside={hasJob ? <JobLink jobId={call.id} /> : path && <PathButton path={path} />}
        summary={
          <span className="flex min-w-0 flex-1 items-center gap-2">
            <Icon size={15} aria-hidden className="shrink-0 text-ink-3" />
            <span className="min-w-0 truncate">
              {call.own ? t.ownWork[call.own] : result?.status === "ok" ? did : does}{" "}
              <code className="font-mono text-[13px] text-ink">{subjectOf(call.parameters) || call.tool}</code>
            </span>
            {diff && <DiffCount added={diff.added} removed={diff.removed} partial={isPartial(diff)} />}
            {errors > 0 && (
              <span className="shrink-0 rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn">
                {t.errorCount(errors)}
              </span>
            )}
            <span className="ml-auto flex shrink-0 items-center gap-2 pl-2 text-xs text-ink-3 tabular-nums">
              {covered && (
                <span
                  title={t.allowedByAutonomy(covered)}
                  className="rounded-full bg-warn-soft px-2 py-0.5 font-medium text-warn"
                >
                  <ShieldCheck size={13} aria-hidden className="sm:hidden" />
                  <span className="max-sm:sr-only">{t.allowedByAutonomy(covered)}</span>
                </span>
              )}
              {decider && (
                <span dir="auto" className="hidden max-w-40 truncate sm:inline">
                  {denied ? t.deniedBy(decider) : t.allowedBy(decider)}
                </span>
              )}
              {took !== null && result && <span className="hidden sm:inline">{seconds(took)}</span>}
              {call.own === "checked-before" && result && "exit_code" in result.facts ? (
                <span>{result.status === "ok" ? t.passedAlready : t.didNotPassYet}</span>
              ) : (
                <StatusMark status={result?.status ?? null} standing={standing} />
              )}
            </span>
          </span>
        }
      >
        {() => (
          <>
            {result ? (
              <ToolResultCard result={result} output={output} messageId={done.resultId} />
            ) : (
              !output && <p className="py-1 text-sm text-ink-3">{sentence(standing, wording, shared)}</p>
            )}
            <Fold name={`parameters ${call.id}`} summary={<span className="text-xs">{t.parametersOf(call.tool)}</span>}>
              {() => <Output text={JSON.stringify(call.parameters, null, 2)} label={t.parameters} />}
            </Fold>
          </>
        )}
      </Fold>
      {!result && output && (
        <div className="ml-1.5">
          <Output text={output} label={t.outputSoFar} ending />
        </div>
      )}
    </>
  );
}
