// What waits for a decision, above the composer: one by one or all at once, by pointer or by one key. It never takes the focus by itself.
import { Check, CheckCheck, Hand, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Decided } from "../state/acts";
import { ruleWords } from "../rules/words";
import { Button } from "../ui/Button";
import type { Approval, Decision } from "../wire/nouns";
import { ApprovalItem } from "./ApprovalItem";
import { DenyForm } from "./DenyForm";
import { type Choice, choiceOf } from "./keys";

interface Props {
  approvals: readonly Approval[];
  onDecide: (decisions: Decided[]) => Promise<boolean>;
}

export function ApprovalDock({ approvals, onDecide }: Props) {
  const [at, setAt] = useState(0);
  const [denying, setDenying] = useState<readonly Approval[] | null>(null);
  const [busy, setBusy] = useState(false);
  const current = approvals[Math.min(at, approvals.length - 1)];
  const decide = async (which: readonly Approval[], decision: Decision, note?: string) => {
    if (busy || which.length === 0) return;
    setBusy(true);
    setDenying(null);
    await onDecide(which.map(({ id }) => ({ id, decision, ...(note ? { note } : {}) })));
    setBusy(false);
  };
  useDecisionKeys(approvals, (choice) => {
    if (!current || denying) return;
    if (choice === "allow") void decide([current], "allow_once");
    else if (choice === "allow-all") void decide(approvals, "allow_once");
    else if (choice === "deny") setDenying([current]);
    else setAt((now) => clamp(now + (choice === "next" ? 1 : -1), approvals.length));
  });
  if (!current) return null;
  const many = approvals.length > 1;
  return (
    <section id="approvals" tabIndex={-1} aria-label="Approvals" className="rise mb-2 flex min-h-0 shrink flex-col overflow-y-auto rounded-2xl border border-line-strong bg-surface shadow-lg">
      <header className="flex shrink-0 items-center gap-2 px-4 pt-3 text-sm font-semibold">
        <Hand size={16} aria-hidden className="text-warn" />
        {many ? `${approvals.length} calls wait for you` : current.held ? "Keep what it changed?" : "May the agent do this?"}
      </header>
      <ul className="max-h-[42vh] min-h-24 shrink space-y-1 overflow-y-auto px-1.5 py-1.5">
        {approvals.map((approval, place) => (
          <ApprovalItem key={approval.id} approval={approval} current={approval === current} alone={!many} onFocus={() => setAt(place)} />
        ))}
      </ul>
      {denying ? (
        <DenyForm count={denying.length} onCancel={() => setDenying(null)} onDeny={(note) => void decide(denying, "deny", note)} />
      ) : (
        <footer className="flex shrink-0 flex-wrap items-center gap-2 px-4 pb-3">
          <Button look="primary" hotkey="Y" icon={<Check size={15} aria-hidden />} disabled={busy} onClick={() => void decide([current], "allow_once")}>
            Allow once
          </Button>
          <Standing approval={current} disabled={busy} onChoose={(decision) => void decide([current], decision)} />
          <Button look="danger" hotkey="N" icon={<X size={15} aria-hidden />} disabled={busy} onClick={() => setDenying([current])}>
            Deny
          </Button>
          {current.proposed_rule && (
            <p className="order-last w-full text-xs break-words text-ink-3">
              “In this chat” and “always” would {ruleWords(current.proposed_rule)}. Settings → Rules takes it back.
            </p>
          )}
          {many && (
            <span className="ml-auto flex gap-2">
              <Button look="quiet" disabled={busy} onClick={() => setDenying(approvals)}>
                Deny all
              </Button>
              <Button hotkey="⇧Y" icon={<CheckCheck size={15} aria-hidden />} disabled={busy} onClick={() => void decide(approvals, "allow_once")}>
                Allow all {approvals.length}
              </Button>
            </span>
          )}
        </footer>
      )}
    </section>
  );
}

/** Standing answers are offered only where the server proposes the rule they would make, and with that rule in words. */
function Standing({ approval, disabled, onChoose }: { approval: Approval; disabled: boolean; onChoose: (decision: Decision) => void }) {
  if (!approval.proposed_rule) return null;
  const rule = ruleWords(approval.proposed_rule);
  return (
    <>
      <Button disabled={disabled} title={`In this chat: ${rule}`} onClick={() => onChoose("allow_session")}>
        In this chat
      </Button>
      <Button disabled={disabled} title={`In this folder, from now on: ${rule}`} onClick={() => onChoose("allow_always")}>
        Always
      </Button>
    </>
  );
}

function useDecisionKeys(approvals: readonly Approval[], onChoice: (choice: Choice) => void): void {
  const newest = approvals.at(-1)?.id;
  const since = useRef(0);
  useEffect(() => {
    since.current = performance.now();
  }, [newest]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const choice = approvals.length > 0 ? choiceOf(event, performance.now() - since.current) : null;
      if (!choice) return;
      event.preventDefault();
      onChoice(choice);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(at, count - 1));
}
