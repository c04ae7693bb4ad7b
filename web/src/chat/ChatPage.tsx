// One chat: what was said and done, what waits, and where to write.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { ApprovalDock } from "../approvals/ApprovalDock";
import { SwitchDialog } from "../roles/SwitchDialog";
import { lookOf } from "../roles/theme";
import * as acts from "../state/acts";
import { loadEarlier, openChat, useLive } from "../state/live";
import { useOffers, useRoles } from "../state/queries";
import type { ChatView, PlanStanding } from "../state/reduce";
import { type Row, rowsOf } from "../state/rows";
import { CHATS } from "../state/sidebar";
import { planStanding, questionStanding } from "../state/standing";
import { Card } from "../messages/Card";
import { WorkCard } from "../messages/WorkCard";
import { Checkpoints } from "../snapshots/Checkpoints";
import { Announcer } from "../ui/Announcer";
import { useHotkeys } from "../ui/hotkeys";
import { attempt, say } from "../ui/toasts";
import { Refusal } from "../wire/client";
import type { PlanStep } from "../wire/nouns";
import { Composer } from "./Composer";
import { DraftRow } from "./DraftRow";
import { Header } from "./Header";
import { RemoveDialog, RenameDialog } from "./ChatDialogs";
import { Hint } from "./Hint";
import { NoChat } from "./NoChat";
import { Transcript } from "./Transcript";
import { Working } from "./Working";

interface Props {
  chatId: string;
  messageId: string | null;
  onSidebar: () => void;
}

export function ChatPage({ chatId, messageId, onSidebar }: Props) {
  const live = useLive();
  const queries = useQueryClient();
  const [dialog, setDialog] = useState<"rename" | "remove" | "checkpoints" | null>(null);
  const switching = useRoleSwitch(chatId);
  const offers = useOffers();
  useEffect(() => {
    void openChat(chatId);
    return () => void openChat(null);
  }, [chatId]);
  const stop = useCallback(() => void attempt(acts.stop(chatId)), [chatId]);
  useHotkeys({ stop, composer: focusComposer, approvals: () => document.getElementById("approvals")?.focus(), role: () => document.getElementById("role-selector")?.focus() });
  if (live.problem) return <NoChat problem={live.problem} onSidebar={onSidebar} />;
  const view = live.chatId === chatId ? live.view : null;
  const change = async (wish: { title?: string; model?: string }) => {
    if (!(await attempt(acts.changeChat(chatId, wish)))) return;
    useLive.setState({ ...(wish.title ? { title: wish.title } : {}), ...(wish.model ? { model: wish.model } : {}) });
    void queries.invalidateQueries({ queryKey: CHATS });
  };
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col">
      <Header
        title={live.title || "…"}
        workspace={live.workspace}
        role={view?.role ?? ""}
        model={live.model}
        usage={view?.usage ?? null}
        status={live.status}
        onRole={switching.choose}
        onModel={(model) => void change({ model })}
        onRename={() => setDialog("rename")}
        onRemove={() => setDialog("remove")}
        onSidebar={onSidebar}
        onCheckpoints={offers.has("/context/{chat_id}/snapshots") ? () => setDialog("checkpoints") : null}
      />
      {view ? <Conversation view={view} target={messageId} onSwitch={switching.choose} onStop={stop} /> : <div className="flex-1" aria-busy />}
      <Announcer view={view} />
      <SwitchDialog role={switching.asked?.role ?? null} words={switching.asked?.words ?? ""} onConfirm={switching.confirm} onClose={switching.cancel} />
      <RenameDialog open={dialog === "rename"} title={live.title} onClose={() => setDialog(null)} onRename={(title) => void change({ title })} />
      {view && <Checkpoints chatId={chatId} messages={view.messages} open={dialog === "checkpoints"} idle={view.state === "idle"} moment={view.lastSeq} onClose={() => setDialog(null)} />}
      <RemoveDialog open={dialog === "remove"} chatId={chatId} onClose={() => setDialog(null)} />
    </main>
  );
}

interface ConversationProps {
  view: ChatView;
  target: string | null;
  onSwitch: (role: string) => void;
  onStop: () => void;
}

function Conversation({ view, target, onSwitch, onStop }: ConversationProps) {
  const { thinking, hasEarlier, loadingEarlier } = useLive();
  const look = lookOf(useRoles(), view.role);
  const rows = useMemo(() => rowsOf(view.messages, view.drafts), [view.messages, view.drafts]);
  const waiting = useMemo(() => new Set(view.approvals.map(({ tool_call_id }) => tool_call_id)), [view.approvals]);
  const execute = useCallback((id: string, steps: PlanStep[] | null) => void attempt(acts.approvePlan(view.id, id, steps)), [view.id]);
  const answer = useCallback((id: string, given: { value: string } | { custom: string }) => void attempt(acts.answer(view.id, id, given)), [view.id]);
  const render = (row: Row) => {
    switch (row.kind) {
      case "draft":
        return <DraftRow draft={row.draft} role={view.role} />;
      case "work":
        return <WorkCard calls={row.calls} waiting={waiting} thought={thinking[row.key] ?? null} />;
      case "message":
        return (
          <Card
            message={row.message}
            thought={thinking[row.key] ?? null}
            plan={row.message.message_type === "plan" ? planStanding(view, row.key) : UNPLANNED}
            question={row.message.message_type === "question" ? questionStanding(view, row.key) : UNASKED}
            busy={view.state !== "idle"}
            onExecute={execute}
            onAnswer={answer}
            onRevise={focusComposer}
          />
        );
    }
  };
  const tail = view.state === "running" && view.drafts.length === 0 ? <Working role={view.role} since={view.turn?.startedAt ?? null} /> : <Hint view={view} onSwitch={onSwitch} />;
  const lastSent = view.messages.findLast(({ role, payload }) => role === "user" && !payload)?.content ?? "";
  return (
    <>
      <Transcript rows={rows} hasEarlier={hasEarlier} loadingEarlier={loadingEarlier} onEarlier={() => void loadEarlier()} render={render} tail={tail} target={target} />
      <div className="mx-auto w-full max-w-3xl shrink-0 px-3 pb-3 sm:px-6 sm:pb-5">
        <ApprovalDock approvals={view.approvals} onDecide={(decisions) => attempt(acts.decide(view.id, decisions))} />
        <Composer chatId={view.id} state={view.state} placeholder={`Message ${look.title}…`} lastSent={lastSent} onSend={(words) => attempt(acts.send(view.id, words))} onStop={onStop} />
      </div>
    </>
  );
}

const UNPLANNED: PlanStanding = { state: "open", approved: null };
const UNASKED = { state: "withdrawn" } as const;

export function focusComposer(): void {
  document.getElementById("composer")?.focus();
}

function useRoleSwitch(chatId: string) {
  const [asked, setAsked] = useState<{ role: string; words: string } | null>(null);
  const go = async (role: string, confirm: boolean) => {
    setAsked(null);
    try {
      await acts.switchRole(chatId, role, confirm);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === "needs_confirmation") setAsked({ role, words: "The agent is at work in this chat. Switching the role stops it." });
      else say(error.message, "problem");
    }
  };
  return {
    asked,
    choose: (role: string) => void go(role, false),
    confirm: () => asked && void go(asked.role, true),
    cancel: () => setAsked(null),
  };
}
