// One open question about one call: the tool, the thing, the risk, why it is asked, and what would change.
import clsx from "clsx";
import { Globe, Hourglass } from "lucide-react";
import { DiffView } from "../messages/DiffView";
import { Output } from "../messages/Output";
import { lookOfTool, subjectOf } from "../messages/tools";
import { visible } from "../messages/visible";
import { Fold } from "../ui/Fold";
import type { Approval } from "../wire/nouns";
import { RiskMark } from "./RiskMark";

/** The one that is decided next, with all there is to know about it. */
export function ApprovalItem({ approval, alone }: { approval: Approval; alone: boolean }) {
  const { Icon, does } = lookOfTool(approval.tool);
  const reasons = approval.held ? approval.reasons.filter((reason) => !reason.startsWith("It has run")) : approval.reasons; // said once
  const changes = approval.held ? "What it changed" : "What would change";
  return (
    <li aria-current={alone ? undefined : true} className={clsx("rounded-xl px-3 py-2", !alone && "my-1 border border-ink-3 bg-sunken/60")}>
      <div className="flex items-start gap-2">
        <Icon size={16} aria-hidden className="mt-1 shrink-0 text-ink-2" />
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-all">
            <span className="font-medium">{does}</span> <code className="font-mono text-[13px] whitespace-pre-wrap">{visible(subjectOf(approval.parameters) || approval.resource)}</code>
          </span>
          <RiskMark risk={approval.risk} />
          {approval.outside_plan && <OutsidePlan />}
        </div>
      </div>
      {approval.held && (
        <p className="mt-1 flex items-start gap-1.5 text-sm">
          <Hourglass size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
          It has run; its changes wait for your word. Denied, they are thrown away.
        </p>
      )}
      {approval.network.length > 0 && (
        <div className="mt-1 flex items-start gap-1.5 text-sm">
          <Globe size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
          <span id={`reach-${approval.id}`}>It wants to reach:</span>
          <ul aria-labelledby={`reach-${approval.id}`} className="min-w-0">
            {approval.network.map((host) => (
              <li key={host} className="font-mono text-[13px] leading-6 break-all">
                {visible(host)}
              </li>
            ))}
          </ul>
        </div>
      )}
      {reasons.length > 0 && <p className="mt-0.5 text-sm text-ink-2">{visible(reasons.join(" "))}</p>}
      {approval.diff ? (
        <DiffView text={approval.diff} label={changes} />
      ) : (
        <Fold className="-ml-1.5" summary={<span className="text-xs">Parameters of {approval.tool}</span>}>
          {() => <Output text={visible(JSON.stringify(approval.parameters, null, 2))} label="Parameters" />}
        </Fold>
      )}
    </li>
  );
}

/** One that comes later, in a line; a press takes it first. The arrow keys reach it: Tab leads on to the answers. */
export function ApprovalLine({ approval, onChoose }: { approval: Approval; onChoose: () => void }) {
  const { Icon, does } = lookOfTool(approval.tool);
  const subject = subjectOf(approval.parameters) || approval.resource;
  return (
    <li>
      <button type="button" tabIndex={-1} onClick={onChoose} title={`${does} ${subject}`} className="flex min-h-9 w-full min-w-0 items-center gap-2 rounded-xl px-3 text-left text-sm hover:bg-sunken thumb:min-h-11">
        <Icon size={15} aria-hidden className="shrink-0 text-ink-3" />
        <span className="min-w-0 flex-1 truncate">
          {does} <code className="font-mono text-[13px]">{subject}</code>
        </span>
        {approval.held && <Hourglass size={14} aria-label="has run" className="shrink-0 text-warn" />}
        {approval.network.length > 0 && <Globe size={14} aria-label="uses the network" className="shrink-0 text-warn" />}
        {approval.outside_plan && <OutsidePlan />}
        <RiskMark risk={approval.risk} />
      </button>
    </li>
  );
}

function OutsidePlan() {
  return <span className="shrink-0 rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn">not in the plan</span>;
}
