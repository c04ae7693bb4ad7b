// What was said and done in a chat, what waits for the person, and where to write.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { ApprovalDock } from "../approvals/ApprovalDock";
import { AutonomyOffer } from "../autonomy/AutonomyOffer";
import { focusComposer } from "../composer/focusComposer";
import type { CallStanding } from "../content/StatusMark";
import { useEvidence } from "../content/TurnEvidence";
import { JobDock } from "../jobs/JobDock";
import { useChatJob } from "../jobs/jobs";
import { Card } from "../messages/Card";
import { WorkCard } from "../messages/WorkCard";
import { PlanDock } from "../plans/PlanDock";
import { lookOf } from "../roles/theme";
import { keptWords } from "../rules/words";
import * as acts from "../state/acts";
import { grownOf } from "../state/drafts";
import { loadEarlier, seek, useLive } from "../state/live";
import { mayDo, useMay, useMe } from "../state/me";
import type { PlanStanding } from "../state/planStandings";
import { usePlanDisclosure, useRoles, useSees } from "../state/queries";
import { type Autonomy, type ChatView, continuable } from "../state/reduce";
import { concernsThePerson, type Row, rowsOf, withDrafts, withPrinted } from "../state/rows";
import { isOrder, type Runs, runInHand, runOf, runsOf } from "../state/runs";
import {
  callStanding,
  isRestored,
  openPlan,
  planInHand,
  planStanding,
  questionStanding,
  waitingCalls,
} from "../state/standing";
import { knownKind } from "../state/tools";
import { t } from "../texts/chat";
import { Outcomes } from "../ui/Outcomes";
import { attempt, say, sayOnPage } from "../ui/outcomes";
import { type Send, useSending } from "../ui/sending";
import { type Answer, type Message, type PlanEdits, readPictures } from "../wire/nouns";
import { RunLine } from "../workflows/RunLine";
import { Composer } from "./Composer";
import { ContinueCard } from "./ContinueCard";
import { FindBar } from "./FindBar";
import { Hint } from "./Hint";
import { InstructionsLine } from "./InstructionsLine";
import { QueuedMessages } from "./QueuedMessages";
import { QuoteSelection } from "./QuoteSelection";
import { ReadOnlyNote } from "./ReadOnlyNote";
import { doCommand } from "./slashCommands";
import { Transcript } from "./Transcript";
import { TurnChanges } from "./TurnChanges";
import { Working } from "./Working";

const NewJobDialog = lazy(() => import("../jobs/NewJobDialog"));
const RememberDialog = lazy(() => import("./RememberDialog"));

interface Props {
  view: ChatView;
  target: string | null;
  onSwitch: (role: string) => void;
  onAutonomy: (autonomy: Autonomy) => void;
  onStop: () => void;
  onCompare: () => void;
  onCheckpoints: () => void;
  onRestore: () => void;
  onModel: (model: string | null) => void;
}

export function Conversation(props: Props) {
  const { view, target, onSwitch, onAutonomy, onStop, onCompare, onCheckpoints, onRestore, onModel } = props;
  const me = useMe();
  const queries = useQueryClient();
  const [writes, decides] = [
    mayDo(me, "POST /context/{chat_id}/messages"),
    mayDo(me, "POST /context/{chat_id}/approvals"),
  ];
  const manages = me.may("manage"); // who sees the page of the rules
  const workspace = useLive((live) => live.workspace);
  const hasEarlier = useLive((live) => live.hasEarlier);
  const loadingEarlier = useLive((live) => live.loadingEarlier);
  const look = lookOf(useRoles(), view.role);
  const settled = useMemo(() => rowsOf(view.messages.filter(concernsThePerson)), [view.messages]);
  const worked = useMemo(() => withPrinted(settled, view.printed), [settled, view.printed]);
  const rows = useMemo(() => withDrafts(worked, view.drafts, view.role), [worked, view.drafts, view.role]);
  useSeek(target);
  const runs = useMemo(() => runsOf(view), [view.messages, view.runs, view.state]);
  const [sending, send] = useSending();
  const [revised, setRevised] = useState<string | null>(null); // the plan that the person wants changed
  const [newJob, setNewJob] = useState<{ request: string; started: () => void } | null>(null);
  const [note, setNote] = useState<string | null>(null); // what is to be remembered
  const remembers = useMay("POST /context/{chat_id}/memory");
  const revising = revised !== null && revised === openPlan(view);
  const revise = useCallback(() => {
    setRevised(openPlan(useLive.getState().view ?? view));
    focusComposer();
  }, [view]);
  const render = useRows(view, runs, onCompare, revise, sending, send);
  const run = runInHand(runs, view.state);
  const evidence = useEvidence(view);
  const { data: job } = useChatJob(view.id, view.news);
  const tail = (
    <div className="space-y-2">
      {view.state === "idle" && (
        <TurnChanges messages={view.messages} evidence={evidence} job={job} onRestore={onRestore} />
      )}
      {mayDo(me, "PATCH /context/{chat_id}") && <AutonomyOffer view={view} onChoose={onAutonomy} />}
      {run && <RunLine run={run} waits={view.state !== "running"} />}
      {view.state === "running" ? (
        <Working
          role={view.role}
          since={view.turn?.startedAt ?? null}
          retry={view.retry}
          starting={view.starting}
          stepsLeft={view.stepsLeft}
          grown={grownOf(view.drafts)}
        />
      ) : (
        <>
          {mayDo(me, "POST /context/{chat_id}/continue") && continuable(view) && (
            <ContinueCard
              reason={continuable(view)!.reason}
              busy={sending !== null}
              full={continuable(view)!.full}
              onContinue={() => void send("continue", () => acts.continueTurn(view.id))}
              onCompact={() =>
                void send("continue", async () => {
                  await acts.compact(view.id);
                  await acts.continueTurn(view.id);
                })
              }
              onDismiss={() => void send("continue", () => acts.dismiss(view.id))}
            />
          )}
          {writes && (
            <Hint
              view={view}
              onSwitch={onSwitch}
              busy={sending !== null}
              onAgain={(words) => void send("again", () => acts.send(view.id, words))}
            />
          )}
        </>
      )}
    </div>
  );
  const plan = planInHand(view);
  const sees = useSees(useLive((live) => live.model));
  const sent = useMemo(() => view.messages.filter(isOwn).map(({ content }) => content), [view.messages]);
  return (
    <>
      <FindBar chatId={view.id} messages={view.messages} onEarlier={hasEarlier ? () => void loadEarlier() : null} />
      <Transcript
        rows={rows}
        first={view.messages[0]?.id ?? null}
        hasEarlier={hasEarlier}
        loadingEarlier={loadingEarlier}
        onEarlier={() => void loadEarlier()}
        render={render}
        tail={tail}
        target={target}
      />
      {writes && <QuoteSelection />}
      {/* in a low window what waits gives way, and scrolls: the composer and Stop never leave it */}
      <div className="mx-auto flex max-h-[calc(100%-3.5rem)] w-full max-w-3xl shrink-0 flex-col px-3 pb-3 sm:px-6 sm:pb-5">
        <InstructionsLine chatId={view.id} workspace={workspace} idle={view.state === "idle"} moment={view.news} />
        <JobDock view={view} />
        {plan && (
          <PlanDock
            chatId={view.id}
            messageId={plan}
            restored={isRestored(view.messages)}
            moment={view.news}
            onCompare={onCompare}
          />
        )}
        {decides && (
          <ApprovalDock
            approvals={view.approvals}
            workspace={workspace}
            onMore={({ id, disclosure }) => acts.restOfDisclosure(view.id, id, disclosure.items.length)}
            onDecide={(decisions) =>
              attempt(acts.decide(view.id, decisions).then((rules) => tellKept(rules, manages, queries)))
            }
          />
        )}
        <Outcomes page className="shrink-0 pb-2" />
        {writes ? (
          <>
            <QueuedMessages
              queue={view.queue}
              idle={view.state === "idle"}
              onChange={(id, content) => attempt(acts.changeQueued(view.id, id, { content }))}
              onRemove={(id) => void attempt(acts.removeQueued(view.id, id))}
              onSendNow={(id) => void attempt(acts.changeQueued(view.id, id, { when: "now" }))}
            />
            <Composer
              chatId={view.id}
              state={view.state}
              placeholder={revising ? t.whatShouldChange : t.message2(look.title)}
              note={revising ? t.revisingThePlan : null}
              sent={sent}
              images={sees}
              onSend={(words, images, files) => attempt(acts.send(view.id, words, images, files))}
              onQueue={(words, when) => attempt(acts.queue(view.id, words, when))}
              onStop={onStop}
              onCommand={(command, text) =>
                doCommand(view, command, text, { onSwitch, onCheckpoints, onModel, onRemember: setNote })
              }
              onJob={(request, started) => setNewJob({ request, started })}
            />
          </>
        ) : (
          <ReadOnlyNote waiting={decides ? 0 : view.approvals.length} />
        )}
        {remembers && note !== null && (
          <Suspense fallback={null}>
            <RememberDialog chatId={view.id} note={note} onClose={() => setNote(null)} />
          </Suspense>
        )}
        {newJob && mayDo(me, "POST /context/{chat_id}/jobs") && (
          <Suspense fallback={null}>
            <NewJobDialog
              chatId={view.id}
              request={newJob.request}
              onClose={() => setNewJob(null)}
              onStarted={() => {
                newJob.started();
                setNewJob(null);
              }}
            />
          </Suspense>
        )}
      </div>
    </>
  );
}

/** A standing answer is said with every rule that it made, and the way to take them back. */
function tellKept(rules: readonly unknown[], manages: boolean, queries: QueryClient): void {
  const words = keptWords(rules, (tool) => knownKind(queries, tool));
  const toRules = { label: t.rules, run: () => (location.hash = "#/settings/permissions") };
  if (words) say(words, "info", manages ? toRules : undefined);
}

/** One row as its card. */
function useRows(
  view: ChatView,
  runs: Runs,
  onCompare: () => void,
  onRevise: () => void,
  sending: string | null,
  send: Send,
): (row: Row) => React.ReactNode {
  const approves = useMay("POST /context/{chat_id}/plans/{message_id}/approve");
  const answers = useMay("POST /context/{chat_id}/questions/{message_id}/answer");
  const thinking = useLive((live) => live.thinking);
  const waiting = useMemo(() => waitingCalls(view), [view.approvals]);
  const standing = (callId: string): CallStanding => callStanding(view, waiting, callId);
  const decidedBy = (callId: string) => view.decided[callId]?.by ?? "";
  const disclosure = usePlanDisclosure(view.id, openPlan(view));
  const hash = disclosure?.hash ?? null;
  const execute = useCallback(
    (id: string, edits: PlanEdits | null, run: "chat" | "job") =>
      void send(id, () => acts.approvePlan(view.id, id, edits, run, hash)),
    [view.id, hash, send],
  );
  const answer = useCallback(
    (id: string, given: Answer) => void send(id, () => acts.answer(view.id, id, given)),
    [view.id, send],
  );
  return (row) => {
    switch (row.kind) {
      case "work":
        return (
          <WorkCard calls={row.calls} standing={standing} decidedBy={decidedBy} thought={thinking[row.key] ?? null} />
        );
      case "draft": // the same card for both: a draft becomes its message without being drawn again
      case "message":
        return (
          <Card
            message={row.message}
            thought={row.kind === "draft" ? row.thought : (thinking[row.key] ?? null)}
            saying={row.kind === "draft" ? row.saying : undefined}
            plan={row.message.message_type === "plan" ? planStanding(view, row.key) : UNPLANNED}
            question={row.message.message_type === "question" ? questionStanding(view, row.key) : UNASKED}
            disclosure={row.message.message_type === "plan" ? disclosure : null}
            run={runs[row.message.turn_id ?? ""] ?? null}
            busy={view.state !== "idle" || sending === row.key || !approves}
            sending={sending === row.key || !answers}
            onExecute={execute}
            onAnswer={answer}
            onRevise={onRevise}
            onCompare={onCompare}
          />
        );
      default: {
        const unreachable: never = row;
        return unreachable;
      }
    }
  };
}

/** What the person wrote, not what was sent in their name. */
function isOwn(message: Message): boolean {
  const run = runOf(message);
  return (
    message.role === "user" &&
    (run
      ? isOrder(message, run)
      : isPlain(message.payload) || "steering" in (message.payload ?? {}) || readPictures(message.payload).length > 0)
  );
}

function isPlain(payload: Message["payload"]): boolean {
  return Object.keys(payload ?? {}).every((key) => key === "author");
}

const UNPLANNED: PlanStanding = { state: "open", approved: null };
const UNASKED = { state: "withdrawn" } as const;

/** A link may lead to a message far back: it is read until it is there. */
function useSeek(target: string | null): void {
  useEffect(() => {
    if (!target) return;
    void seek(target).then((found) => !found && sayOnPage(t.theMessageThatThisLink, "problem"));
  }, [target]);
}
