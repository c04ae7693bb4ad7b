// One chat: its header, its conversation, and the dialogs about it. What is seldom opened is loaded when it is.

import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { useHoldsCommands } from "../autonomy/AutonomySelector";
import { nextLevel } from "../autonomy/levels";
import { focusComposer } from "../composer/focusComposer";
import { askToFork, useForkWish } from "../fork/opening";
import { ModelPicker } from "../models/ModelButton";
import { SwitchDialog } from "../roles/SwitchDialog";
import * as acts from "../state/acts";
import { openChat, useLive } from "../state/live";
import { useMay } from "../state/me";
import { closeFiles, openFiles, useFilesPane } from "../state/openFiles";
import type { Autonomy, ChatView } from "../state/reduce";
import { CHATS, useConnection } from "../state/sidebar";
import { turnTerminal, useTerminalPane } from "../terminal/opening";
import { t } from "../texts/chat";
import { Announcer } from "../ui/Announcer";
import { useHotkeys } from "../ui/hotkeys";
import { attempt, say } from "../ui/outcomes";
import { Toaster } from "../ui/Toaster";
import { Refusal } from "../wire/client";
import { closeWorkflows, useOpening } from "../workflows/opening";
import { RemoveDialog, RenameDialog } from "./ChatDialogs";
import { Conversation } from "./Conversation";
import { Header } from "./Header";
import { NoChat } from "./NoChat";

const FilesPane = lazy(() => import("../files/FilesPane"));
const TerminalPane = lazy(() => import("../terminal/TerminalPane"));
const ForkDialog = lazy(() => import("../fork/ForkDialog"));
const Checkpoints = lazy(() => import("../snapshots/Checkpoints"));
const Workflows = lazy(() => import("../workflows/Workflows"));
const PlanAgainstActual = lazy(() => import("../plans/PlanAgainstActual"));

/** The same button and key open and close it. */
function turnFiles(): void {
  if (useFilesPane.getState().open) closeFiles();
  else openFiles();
}

interface Props {
  chatId: string;
  messageId: string | null;
  onSidebar: () => void;
}

type Open = "rename" | "remove" | "checkpoints" | "restore" | "audit" | "model" | null;

export default function ChatPage({ chatId, messageId, onSidebar }: Props) {
  const live = useLive();
  const queries = useQueryClient();
  const [dialog, setDialog] = useState<Open>(null);
  const switching = useRoleSwitch(chatId);
  useEffect(() => {
    void openChat(chatId);
    return () => void openChat(null);
  }, [chatId]);
  const connection = useConnection();
  useEffect(() => {
    if (connection === "live" && useLive.getState().problem?.status === 0) void openChat(chatId); // the server is back
  }, [connection, chatId]);
  const full = useHoldsCommands();
  const stop = useCallback(() => void attempt(acts.stop(chatId)), [chatId]);
  const compare = useCallback(() => setDialog("audit"), []);
  const checkpoints = useCallback(() => setDialog("checkpoints"), []);
  const restore = useCallback(() => setDialog("restore"), []);
  useHotkeys({
    stop,
    composer: focusComposer,
    files: turnFiles,
    terminal: turnTerminal,
    approvals: () => document.getElementById("approvals")?.focus(),
    role: () => document.getElementById("role-selector")?.focus(),
    autonomy: () =>
      useLive.getState().view &&
      void attempt(acts.changeChat(chatId, { autonomy: nextLevel(useLive.getState().view!.autonomy, full) })),
  });
  if (live.problem)
    return <NoChat problem={live.problem} onSidebar={onSidebar} onAgain={() => void openChat(chatId)} />;
  const view = live.chatId === chatId ? live.view : null;
  const setAutonomy = (autonomy: Autonomy) => void attempt(acts.changeChat(chatId, { autonomy }));
  const change = async (wish: { title?: string; model?: string; pinned?: boolean; archived?: boolean }) => {
    if (!(await attempt(acts.changeChat(chatId, wish)))) return;
    useLive.setState(wish);
    void queries.invalidateQueries({ queryKey: CHATS });
  };
  return (
    <>
      <main className="relative flex h-full min-w-0 flex-1 flex-col">
        <Header
          chatId={chatId}
          title={live.title || "…"}
          workspace={live.workspace}
          role={view?.role ?? ""}
          model={live.model}
          spent={view?.spent ?? null}
          alone={live.status === "reconnecting" && connection !== "reconnecting"}
          onRole={switching.choose}
          autonomy={view?.autonomy ?? null}
          onAutonomy={setAutonomy}
          onModel={(model) => void change({ model })}
          pinned={live.pinned}
          archived={live.archived}
          onKeep={(wish) => void change(wish)}
          onRename={() => setDialog("rename")}
          onRemove={() => setDialog("remove")}
          onSidebar={onSidebar}
          onCheckpoints={checkpoints}
          onCompare={compare}
          onFiles={turnFiles}
          onTerminal={turnTerminal}
        />
        {view ? (
          <Conversation
            view={view}
            onAutonomy={setAutonomy}
            target={messageId}
            onSwitch={switching.choose}
            onStop={stop}
            onCompare={compare}
            onCheckpoints={checkpoints}
            onRestore={restore}
            onModel={(model) => (model ? void change({ model }) : setDialog("model"))}
          />
        ) : (
          <Opening />
        )}
        {view && <Terminal view={view} />}
        <Toaster at="beside" />
        <Announcer view={view} />
        <SwitchDialog
          role={switching.asked?.role ?? null}
          words={switching.asked?.words ?? ""}
          onConfirm={switching.confirm}
          onClose={switching.cancel}
        />
        <RenameDialog
          open={dialog === "rename"}
          title={live.title}
          onClose={() => setDialog(null)}
          onRename={(title) => change({ title })}
        />
        <RemoveDialog open={dialog === "remove"} chatId={chatId} onClose={() => setDialog(null)} />
        <Suspense fallback={null}>
          {dialog === "model" && (
            <ModelPicker
              model={live.model ?? ""}
              onChoose={(model) => void change({ model })}
              onClose={() => setDialog(null)}
            />
          )}
        </Suspense>
        {view && <Fork chatId={chatId} model={live.model} />}
        {view && <Selector view={view} workspace={live.workspace} onSwitch={switching.choose} />}
        {view && <Looks view={view} open={dialog} onClose={() => setDialog(null)} />}
      </main>
      {view && <Files chatId={chatId} moment={view.news} />}
    </>
  );
}

function Terminal({ view }: { view: ChatView }) {
  const open = useTerminalPane((pane) => pane.open);
  const may = useMay("GET /context/{chat_id}/person-commands");
  return <Suspense fallback={null}>{open && may && <TerminalPane key={view.id} view={view} />}</Suspense>;
}

function Files({ chatId, moment }: { chatId: string; moment: number }) {
  const open = useFilesPane((pane) => pane.open);
  const may = useMay("GET /context/{chat_id}/file");
  return <Suspense fallback={null}>{open && may && <FilesPane chatId={chatId} moment={moment} />}</Suspense>;
}

function Fork({ chatId, model }: { chatId: string; model: string | null }) {
  const { wish } = useForkWish();
  const may = useMay("POST /context/{chat_id}/fork");
  useEffect(() => () => askToFork(null), [chatId]);
  return (
    <Suspense fallback={null}>
      {wish && may && <ForkDialog chatId={chatId} wish={wish} model={model} onClose={() => askToFork(null)} />}
    </Suspense>
  );
}

/** Said only where it takes a while. */
function Opening() {
  return (
    <div className="flex flex-1 items-center justify-center" aria-busy>
      <p role="status" className="late text-sm text-ink-3">
        {t.openingTheChat}
      </p>
    </div>
  );
}

/** What looks back at the chat: its changes, and its plans against what was done. */
function Looks({ view, open, onClose }: { view: ChatView; open: Open; onClose: () => void }) {
  return (
    <Suspense fallback={null}>
      {(open === "checkpoints" || open === "restore") && (
        <Checkpoints
          newest={open === "restore"}
          chatId={view.id}
          messages={view.messages}
          open
          idle={view.state === "idle"}
          moment={view.news}
          restoring={view.restoring}
          onClose={onClose}
        />
      )}
      {open === "audit" && <PlanAgainstActual chatId={view.id} open moment={view.news} onClose={onClose} />}
    </Suspense>
  );
}

function Selector({
  view,
  workspace,
  onSwitch,
}: {
  view: ChatView;
  workspace: string;
  onSwitch: (role: string) => void;
}) {
  const { open, at } = useOpening();
  const may = useMay("POST /workflows/{name}/execute");
  useEffect(() => closeWorkflows, [view.id]);
  if (!open || !may) return null;
  const started = () => {
    closeWorkflows();
    setTimeout(focusComposer); // once the dialog is gone: it keeps the focus while it is there
  };
  return (
    <Suspense fallback={null}>
      <Workflows
        chatId={view.id}
        workspace={workspace}
        role={view.role}
        busy={view.state !== "idle"}
        at={at}
        onSwitch={onSwitch}
        onStarted={started}
        onClose={closeWorkflows}
      />
    </Suspense>
  );
}

function useRoleSwitch(chatId: string) {
  const [asked, setAsked] = useState<{ role: string; words: string } | null>(null);
  const go = async (role: string, confirm: boolean) => {
    setAsked(null);
    try {
      await acts.switchRole(chatId, role, confirm);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === "needs_confirmation") setAsked({ role, words: t.theAgentIsAtWork });
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
