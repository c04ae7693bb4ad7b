// What waits for a decision, above the composer: one by one or all at once, by pointer, or by a key once it has the focus. It never takes the focus.

import { Check, CheckCheck, ChevronDown, ChevronUp, Hand, X } from "lucide-react";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { useToolLook } from "../content/tools";
import { ruleWords } from "../rules/words";
import type { Decided } from "../state/acts";
import { useMe } from "../state/me";
import { useToolDisplay } from "../state/tools";
import { t } from "../texts/approvals";
import { Button, IconButton } from "../ui/Button";
import { type Approval, type Decision, type DisclosedItem, loose, text } from "../wire/nouns";
import { ApprovalItem, ApprovalLine } from "./ApprovalItem";
import { ArgumentChoices, argumentsOf } from "./ArgumentChoices";
import { DenyForm } from "./DenyForm";
import { useDecisionKeys } from "./keys";
import { savedRules } from "./savedRules";

interface Props {
  approvals: readonly Approval[];
  /** The chat's folder. */
  workspace?: string | null;
  onDecide: (decisions: Decided[]) => Promise<boolean>;
  /** What an approval grants beyond what came with it. */
  onMore?: (approval: Approval) => Promise<readonly DisclosedItem[]>;
}

export function ApprovalDock({ approvals, workspace = null, onDecide, onMore = NO_MORE }: Props) {
  const [at, setAt] = useState(0);
  const [denying, setDenying] = useState<readonly Approval[] | null>(null);
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(false);
  const [shown, setShown] = useState<ReadonlySet<string>>(NOTHING_SHOWN);
  const list = useRef<HTMLUListElement>(null);
  const place = clamp(at, approvals.length);
  const current = approvals[place];
  const many = approvals.length > 1;
  const allShown = approvals.every(({ id }) => shown.has(id));
  const readOn = () => list.current?.scrollBy?.({ top: list.current.clientHeight * 0.8 });
  useEffect(() => {
    setAt(0); // other calls are looked at from the first
    setOpen(false);
  }, [approvals[0]?.batch_id]);
  const { kind } = useToolDisplay(current?.tool ?? "");
  const dock = useKeptFocus(approvals.length);
  const decide = async (which: readonly Approval[], decision: Decision, more: Pick<Decided, "note" | "rule"> = {}) => {
    if (busy || which.length === 0) return;
    setBusy(true);
    setDenying(null);
    await onDecide(
      which.map(({ id, disclosure }) => ({
        id,
        decision,
        ...more,
        ...(!decision.startsWith("deny") && disclosure ? { disclosure: disclosure.hash } : {}),
      })),
    );
    setBusy(false);
  };
  // What was not shown in full is not allowed: the first press shows all of them, the next allows them.
  const allowAll = () => {
    if (allShown) void decide(approvals, "allow_once");
    else if (many && !open) setOpen(true);
    else readOn();
  };
  const decidesByKey = useDecisionKeys(dock, approvals.at(-1)?.id, (choice) => {
    if (!current || denying) return;
    if (choice === "allow") shown.has(current.id) ? void decide([current], "allow_once") : readOn();
    else if (choice === "allow-all") allowAll();
    else if (choice === "deny") setDenying([current]);
    else setAt(clamp(place + (choice === "next" ? 1 : -1), approvals.length));
  });
  useInView(dock, current?.id, many);
  if (!current) return null;
  return (
    <section
      ref={dock}
      id="approvals"
      tabIndex={-1}
      aria-label={t.approvals}
      data-decides-by-key={decidesByKey || undefined}
      className="rise mb-2 flex min-h-0 shrink flex-col overflow-y-auto rounded-2xl border border-line-strong bg-surface shadow-lg"
    >
      <header className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-2 px-4 pt-2 pb-0.5 text-sm font-semibold">
        <Hand size={16} aria-hidden className="shrink-0 text-warn" />
        {many ? t.callsWaitForYou(approvals.length) : current.held ? t.keepWhatItChanged : t.mayTheAgentDoThis}
        {many && <Place approval={current} at={place} of={approvals.length} onMove={setAt} />}
        {many && !denying && (
          <span className="ml-auto flex gap-1">
            <Button look="quiet" disabled={busy} onClick={() => setDenying(approvals)}>
              {t.denyAll}
            </Button>
            <Button
              {...(decidesByKey && { hotkey: "⇧Y" })}
              icon={<CheckCheck size={15} aria-hidden />}
              disabled={busy || (open && !allShown)}
              title={open && !allShown ? UNREAD : undefined}
              onClick={allowAll}
            >
              {open || allShown ? t.allowAll(approvals.length) : t.showAll(approvals.length)}
            </Button>
          </span>
        )}
      </header>
      <ul ref={list} className="max-h-[42vh] min-h-24 shrink overflow-y-auto px-1.5 py-1.5">
        {approvals.map((approval, number) =>
          approval === current || open ? (
            <ApprovalItem
              workspace={workspace}
              key={approval.id}
              approval={approval}
              alone={!many}
              current={approval === current}
              onMore={onMore}
              onShown={() => setShown((now) => new Set([...now, approval.id]))}
            />
          ) : (
            <ApprovalLine key={approval.id} approval={approval} onChoose={() => setAt(number)} />
          ),
        )}
      </ul>
      <footer className="shrink-0 border-t border-line px-4 pt-3 pb-3">
        {denying ? (
          <DenyForm
            count={denying.length}
            rule={denyRuleWords(denying, kind)}
            onCancel={() => setDenying(null)}
            onDeny={(decision, note) => void decide(denying, decision, note ? { note } : {})}
          />
        ) : (
          <Answers
            key={current.id}
            approval={current}
            busy={busy}
            unread={!shown.has(current.id)}
            decidesByKey={decidesByKey}
            onChoose={(decision, rule) => void decide([current], decision, rule ? { rule } : {})}
            onDeny={() => setDenying([current])}
          />
        )}
      </footer>
    </section>
  );
}

/** Which of many is decided next, and the way to the others: a long difference hides them. */
function Place({
  approval,
  at,
  of,
  onMove,
}: {
  approval: Approval;
  at: number;
  of: number;
  onMove: (at: number) => void;
}) {
  const { does, subjectOf } = useToolLook(approval.tool);
  return (
    <span className="flex items-center font-normal">
      <IconButton
        label={t.theCallBefore}
        disabled={at === 0}
        onClick={() => onMove(at - 1)}
        className="!size-8 thumb:!size-11"
      >
        <ChevronUp size={16} aria-hidden />
      </IconButton>
      <span role="status" className="text-xs text-ink-2 tabular-nums">
        {t.of(at + 1, of)}
        <span className="sr-only">
          : {does} {subjectOf(approval.parameters) || approval.resource}
        </span>
      </span>
      <IconButton
        label={t.theNextCall}
        disabled={at === of - 1}
        onClick={() => onMove(at + 1)}
        className="!size-8 thumb:!size-11"
      >
        <ChevronDown size={16} aria-hidden />
      </IconButton>
    </span>
  );
}

/** What can be answered to one. Standing answers are offered only where the server proposes the rule they would make, and with that rule in words. */
function Answers({
  approval,
  busy,
  unread,
  decidesByKey,
  onChoose,
  onDeny,
}: {
  approval: Approval;
  busy: boolean;
  unread: boolean;
  decidesByKey: boolean;
  onChoose: (decision: Decision, rule?: Decided["rule"]) => void;
  onDeny: () => void;
}) {
  const { kind } = useToolDisplay(text(loose(approval.proposed_rule)["tool"]) || approval.tool); // a key file's rule is about reading
  const proposed = argumentsOf(approval.proposed_rule);
  const [chosen, setChosen] = useState(proposed);
  const changed = chosen && JSON.stringify(chosen) !== JSON.stringify(proposed);
  const kept = changed ? { ...approval.proposed_rule, arguments: chosen } : approval.proposed_rule;
  const rules = kept ? savedRules(approval, kept, kind, Boolean(changed)) : [];
  const rule = rules.join("; ");
  const own = changed ? { ...ownRule(approval), arguments: chosen } : undefined;
  const manages = useMe().may("manage");
  // The next call takes the place of the one that was decided: the second half of a double click was not meant for it.
  const once = (decision: Decision) => (event: MouseEvent) =>
    event.detail < 2 && onChoose(decision, decision === "allow_once" ? undefined : own);
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      <Button
        look="primary"
        {...(decidesByKey && { hotkey: "Y" })}
        icon={<Check size={15} aria-hidden />}
        disabled={busy || unread}
        aria-describedby={unread ? "unread" : undefined}
        onClick={once("allow_once")}
      >
        {approval.held ? t.keepChanges : t.allowOnce}
      </Button>
      <Button
        look="danger"
        {...(decidesByKey && { hotkey: "N" })}
        icon={<X size={15} aria-hidden />}
        disabled={busy}
        onClick={onDeny}
      >
        {approval.held ? t.discardChanges : t.deny}
      </Button>
      {unread && (
        <p id="unread" className="text-sm text-warn max-sm:col-span-2">
          {UNREAD}
        </p>
      )}
      {rule && proposed && chosen && (
        <ArgumentChoices proposed={proposed} chosen={chosen} parameters={approval.parameters} onChange={setChosen} />
      )}
      {rule && (
        <>
          <span className="contents sm:ml-auto sm:flex sm:gap-2">
            <Button disabled={busy || unread} title={t.inThisChat(rule)} onClick={once("allow_session")}>
              {t.allowInThisChat}
            </Button>
            <Button disabled={busy || unread} title={t.inThisFolderFromNow(rule)} onClick={once("allow_always")}>
              {t.alwaysAllow}
            </Button>
          </span>
          <p className="col-span-2 w-full text-xs break-words text-ink-3">
            <span className="block sm:ml-auto sm:w-fit">
              {manages ? t.theseTwoKeepARule(rules.length, rule) : t.theseTwoKeepARuleForAll(rules.length, rule)}
            </span>
          </p>
        </>
      )}
    </div>
  );
}

/** Who decides with the focus in the dock keeps it there, or on the page once all is decided: a button that goes away must not leave it nowhere. */
function useKeptFocus(count: number) {
  const dock = useRef<HTMLElement>(null);
  const inside = useRef(false);
  useEffect(() => {
    const note = () => {
      inside.current = dock.current?.contains(document.activeElement) ?? false;
    };
    document.addEventListener("focusin", note);
    return () => document.removeEventListener("focusin", note);
  }, []);
  useEffect(() => {
    if (inside.current && document.activeElement === document.body)
      (dock.current ?? document.getElementById("main"))?.focus({ preventScroll: true });
  }, [count]);
  return dock;
}

function useInView(dock: { readonly current: HTMLElement | null }, current: string | undefined, many: boolean): void {
  useEffect(() => {
    if (many) dock.current?.querySelector("[aria-current]")?.scrollIntoView?.({ block: "nearest" });
  }, [dock, current, many]);
}

const UNREAD = t.scrollToTheEndTo;
const NOTHING_SHOWN: ReadonlySet<string> = new Set();
const NO_MORE = () => Promise.resolve([]);

/** The tool and the resource of the proposed rule. */
function ownRule({ proposed_rule }: Approval): { tool: string; resource: string; effect: "allow" } {
  const { tool, resource } = loose(proposed_rule);
  return { tool: text(tool), resource: text(resource), effect: "allow" };
}

/** The rule that denying this one call always saves; several calls have none in common. */
function denyRuleWords(denying: readonly Approval[], kind: string): string | null {
  const rule = denying.length === 1 ? denying[0]?.proposed_deny_rule : null;
  return rule ? ruleWords(rule, kind) : null;
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(at, count - 1));
}
