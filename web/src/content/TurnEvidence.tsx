// What the last turn's "done" is worth: one of four words, and behind it what was expected and which checks ran.

import { useQuery } from "@tanstack/react-query";
import clsx from "clsx";
import { BadgeCheck, Check, CircleCheck, CircleHelp, CircleX, Speech, X } from "lucide-react";
import { Popover } from "radix-ui";
import { useState } from "react";
import type { ChatView } from "../state/reduce";
import { t } from "../texts/evidence";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";
import { attempt } from "../ui/outcomes";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { visible } from "./visible";

export type Evidence = components["schemas"]["EvidenceResponse"];
type CheckNotRun = components["schemas"]["CheckNotRunResponse"];
type State = components["schemas"]["ExpectationState"];

const LOOKS = {
  checked: { Icon: BadgeCheck, colour: "text-good" },
  self_checked: { Icon: CircleCheck, colour: "text-ink-2" },
  claimed: { Icon: Speech, colour: "text-ink-2" },
  failed: { Icon: CircleX, colour: "text-bad" },
} as const;

const STATE_LOOKS = {
  met: { Icon: Check, colour: "text-good" },
  unmet: { Icon: X, colour: "text-bad" },
  unknown: { Icon: CircleHelp, colour: "text-ink-2" },
} as const;

/** The evidence of the chat's newest turn; null while it works, and where there is nothing to say,
 * undefined while it is on its way. */
export function useEvidence(view: ChatView): Evidence | null | undefined {
  const turnId = view.messages.findLast(({ turn_id, job_id }) => turn_id && !job_id)?.turn_id ?? "";
  const { data } = useQuery({
    queryKey: ["evidence", view.id, turnId],
    enabled: view.state === "idle" && turnId !== "",
    queryFn: async () => {
      const params = { path: { chat_id: view.id }, query: { turn_id: turnId } };
      return (await given(api.GET("/context/{chat_id}/evidence", { params }))).evidence;
    },
  });
  return view.state === "idle" && turnId ? data : null;
}

export function TurnEvidence({ evidence }: { evidence: Evidence }) {
  const { Icon, colour } = LOOKS[evidence.status];
  const ran = new Set(evidence.checks.map(({ command }) => command));
  const others = evidence.expectations.filter(({ kind, subject }) => kind !== "check" || !ran.has(subject));
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <button
          type="button"
          title={t.meaning[evidence.status]}
          className={clsx(
            "inline-flex min-h-9 items-center gap-1.5 rounded-lg px-2 text-sm font-medium hover:bg-sunken thumb:min-h-11",
            colour,
          )}
        >
          <Icon size={15} aria-hidden /> {t.word[evidence.status]}
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={8}
          aria-label={t.evidence}
          className="rise z-40 max-h-80 w-96 max-w-[calc(100vw-1rem)] overflow-y-auto rounded-xl border border-line bg-surface p-4 text-sm text-ink shadow-xl"
        >
          <p>{t.meaning[evidence.status]}</p>
          <ul aria-label={t.expected} className="mt-2 space-y-1.5 empty:hidden">
            {others.map(({ kind, subject, state, why }) => (
              <Line key={`${kind} ${subject}`} state={state} about={t.kind[kind]} subject={subject} why={why} />
            ))}
          </ul>
          <ul aria-label={t.checks} className="mt-2 space-y-1.5 empty:hidden">
            {evidence.checks.map((check) => (
              <Line
                key={check.command}
                state={check.state}
                about={t.kind.check}
                subject={check.command}
                result={t.exitCode(check.exit_code)}
                why={reasons(check, evidence).join(" ")}
              />
            ))}
          </ul>
          {Boolean(evidence.not_run?.length) && (
            <section aria-label={t.notRun} className="mt-3 space-y-1.5">
              <p className="text-xs text-ink-2">{t.notRun}</p>
              {evidence.not_run?.map((check) => (
                <NotRun key={check.command} check={check} />
              ))}
            </section>
          )}
          {evidence.receipt && (
            <div className="mt-3 text-xs text-ink-2">
              <p>{t.repeat}</p>
              <p className="mt-1 flex items-center rounded-lg bg-sunken pl-2">
                <code className="min-w-0 flex-1 truncate">{`anycowork verify ${evidence.receipt}`}</code>
                <Copy text={`anycowork verify ${evidence.receipt}`} />
              </p>
            </div>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** A check that asks first, and the rule that lets it run from now on. */
function NotRun({ check }: { check: CheckNotRun }) {
  const [allowed, setAllowed] = useState(false);
  const allow = async () => {
    await attempt(given(api.POST("/rules", { body: check.rule as never })).then(() => setAllowed(true)));
  };
  return (
    <div className="flex flex-wrap items-center gap-x-2">
      <code className="min-w-0 flex-1 font-mono text-[13px] break-all">{visible(check.command)}</code>
      {check.rule && !allowed && (
        <Button needs="POST /rules" onClick={() => void allow()}>
          {t.alwaysAllow}
        </Button>
      )}
      <p role="status" className="basis-full text-xs text-ink-2 empty:hidden">
        {allowed && t.allowed}
      </p>
    </div>
  );
}

/** Why the check counts as it does: what was said of it where it was expected, and what the turn did to it. Pure. */
function reasons(check: Evidence["checks"][number], { expectations }: Evidence): string[] {
  const expected = expectations.find(({ kind, subject }) => kind === "check" && subject === check.command);
  const said = expected?.why ?? check.remark ?? "";
  const changed = check.owner === "turn" && check.changed_by_turn.some((path) => !said.includes(path));
  return [
    said,
    check.passed_before ? t.passedBefore : "",
    changed ? t.changedByTurn(check.changed_by_turn.join(", ")) : "",
  ].filter((reason) => reason.trim() !== "");
}

type LineProps = { state: State; about: string; subject: string; result?: string; why: string };

function Line({ state, about, subject, result, why }: LineProps) {
  const { Icon, colour } = STATE_LOOKS[state];
  return (
    <li className="flex gap-2">
      <Icon size={15} className={clsx("mt-0.5 shrink-0", colour)} role="img" aria-label={t.state[state]} />
      <div className="min-w-0">
        {about} <span className="font-mono text-[13px] break-words">{visible(subject)}</span>
        {result && <span className="text-ink-2"> · {result}</span>}
        {why.trim() && (
          <span lang="en" className="block text-xs text-ink-2">
            {visible(why)}
          </span>
        )}
      </div>
    </li>
  );
}
