// One open question about one call: the tool, the thing, the risk, why it is asked, and what would change.

import clsx from "clsx";
import { Globe, Hourglass } from "lucide-react";
import { useEffect, useState } from "react";
import { DiffView } from "../content/DiffView";
import { toolName, useToolLook } from "../content/tools";
import { visible } from "../content/visible";
import { en, t } from "../texts/approvals";
import { number } from "../texts/language";
import { Button } from "../ui/Button";
import { SeenMark } from "../ui/SeenMark";
import type { Approval, DisclosedItem } from "../wire/nouns";
import { DisclosedList, GrantedText } from "./DisclosedList";
import { EndorsementNote } from "./EndorsementNote";
import { RiskMark } from "./RiskMark";

interface ItemProps {
  approval: Approval;
  alone: boolean;
  current?: boolean;
  workspace?: string | null;
  /** The items that did not come with the approval. */
  onMore: (approval: Approval) => Promise<readonly DisclosedItem[]>;
  /** All of it has been in view. */
  onShown: () => void;
}

/** The one that is decided next, with all there is to know about it. */
export function ApprovalItem({ approval, alone, current = true, workspace = null, onMore, onShown }: ItemProps) {
  const [rest, setRest] = useState<readonly DisclosedItem[] | null>(null);
  const [ends, setEnds] = useState({ top: false, bottom: false });
  const first = approval.disclosure?.items ?? [];
  const missing = Math.max(0, (approval.disclosure?.total ?? 0) - first.length - (rest?.length ?? 0));
  const whole = ends.top && ends.bottom && missing === 0;
  useEffect(() => {
    if (whole) onShown();
  }, [whole]);
  const { Icon, does, subjectOf } = useToolLook(approval.tool);
  const said = [
    ...(approval.held ? [en.itHasRun] : []),
    ...(approval.network.length > 0 ? [en.itCanSendDataTo] : []),
    ...(approval.endorsement ? [en.itHasReadUnvouched] : []),
  ]; // each of them has a line of its own
  const reasons = approval.reasons.filter((reason) => !said.some((start) => reason.startsWith(start)));
  const subject = subjectOf(approval.parameters) || approval.resource;
  const which = current ? "" : ` (${visible(subject)})`; // each region of the page has its own name
  const changes = (approval.held ? t.whatItChanged : t.whatWouldChange) + which;
  return (
    <li
      aria-current={alone || !current ? undefined : true}
      className={clsx(
        "rounded-xl px-3 py-2",
        !alone && "my-1 border",
        !alone && (current ? "border-ink-3 bg-sunken/60" : "border-line"),
      )}
    >
      <SeenMark onSeen={() => setEnds((now) => ({ ...now, top: true }))} />
      <div className="flex items-start gap-2">
        <Icon size={16} aria-hidden className="mt-1 shrink-0 text-ink-2" />
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
          <span className="min-w-0 break-all">
            <span className="font-medium">{does}</span> <GrantedText text={visible(subject)} className="!text-[13px]" />
          </span>
          <RiskMark risk={approval.risk} />
          {approval.outside_plan && <OutsidePlan />}
        </div>
      </div>
      {approval.held && (
        <p className="mt-1 flex items-start gap-1.5 text-sm">
          <Hourglass size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
          {t.itHasRunItsChanges}
        </p>
      )}
      {approval.network.length > 0 && (
        <div className="mt-1 flex flex-wrap items-start gap-x-1.5 text-sm">
          <Globe size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
          <span id={`reach-${approval.id}`}>{t.itWantsToReach}</span>
          <ul aria-labelledby={`reach-${approval.id}`} className="min-w-0">
            {approval.network.map((host) => (
              <li key={host} className="font-mono text-[13px] leading-6 break-all">
                {visible(host)}
              </li>
            ))}
          </ul>
        </div>
      )}
      {approval.network.length > 0 && <p className="mt-0.5 text-sm text-ink-2">{t.sendsAndReceivesThere}</p>}
      {approval.endorsement && <EndorsementNote endorsement={approval.endorsement} workspace={workspace} />}
      {reasons.length > 0 && (
        <p lang="en" className="mt-0.5 text-sm text-ink-2">
          {visible(reasons.join(" "))}
        </p>
      )}
      <DisclosedList
        items={notInHead([...first, ...(rest ?? [])], approval, subject)}
        label={(approval.held ? t.everyPathThatItChanged : t.allThatWasGiven(toolName(approval.tool))) + which}
      />
      {missing > 0 && (
        <Button className="my-1" onClick={() => void onMore(approval).then(setRest)}>
          {t.showMore(number(missing))}
        </Button>
      )}
      {approval.diff && <DiffView text={approval.diff} label={changes} whole />}
      <SeenMark onSeen={() => setEnds((now) => ({ ...now, bottom: true }))} />
    </li>
  );
}

/** A list that is said to be all has every parameter: the one that the heading shows is left out only if there is no other. */
function notInHead(items: readonly DisclosedItem[], approval: Approval, subject: string): DisclosedItem[] {
  const others = items.filter((item) => !isInHead(item, approval, subject));
  const isPartOfList = others.some(({ kind }) => kind === "parameter") && !approval.held;
  const isSubject = ({ kind, text }: DisclosedItem) => kind === "parameter" && text === visible(subject);
  return isPartOfList ? items.filter((item) => isSubject(item) || others.includes(item)) : others;
}

/** What the heading says already; of a held call the paths are what matters, and its parameters are those of the command that ran. */
function isInHead(item: DisclosedItem, approval: Approval, subject: string): boolean {
  if (item.kind === "tool" || item.kind === "command" || item.kind === "host") return true;
  if (item.kind === "parameter")
    return item.text === visible(subject) || (approval.network.length > 0 && item.detail === "network");
  return (
    item.kind === "path" &&
    !approval.held &&
    `/${item.text.replace(/^\//, "")}` === `/${visible(subject).replace(/^\//, "")}`
  );
}

/** One that comes later, in a line; a press takes it first. The arrow keys reach it: Tab leads on to the answers. */
export function ApprovalLine({ approval, onChoose }: { approval: Approval; onChoose: () => void }) {
  const { Icon, does, subjectOf } = useToolLook(approval.tool);
  const subject = subjectOf(approval.parameters) || approval.resource;
  return (
    <li>
      <button
        type="button"
        tabIndex={-1}
        onClick={onChoose}
        title={`${does} ${visible(subject)}`}
        className="flex min-h-9 w-full min-w-0 items-center gap-2 rounded-xl px-3 text-left text-sm hover:bg-sunken thumb:min-h-11"
      >
        <Icon size={15} aria-hidden className="shrink-0 text-ink-3" />
        <span className="min-w-0 flex-1 truncate">
          {does} <code className="font-mono text-[13px]">{visible(subject)}</code>
        </span>
        {approval.held && <Hourglass size={14} aria-label={t.hasRun} className="shrink-0 text-warn" />}
        {approval.network.length > 0 && (
          <Globe size={14} aria-label={t.usesTheNetwork} className="shrink-0 text-warn" />
        )}
        {approval.outside_plan && <OutsidePlan />}
        <RiskMark risk={approval.risk} />
      </button>
    </li>
  );
}

function OutsidePlan() {
  return (
    <span className="shrink-0 rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn">
      {t.notInThePlan}
    </span>
  );
}
