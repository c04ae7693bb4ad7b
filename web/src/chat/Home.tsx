// The start: who should the agent be, where should it work, what should be done. A chat is made with the first message.

import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { ArrowUp, Network } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { draftOf, keepDraft, preference } from "../browser/preferences";
import { focusComposer } from "../composer/focusComposer";
import { ModelButton } from "../models/ModelButton";
import { lookOf } from "../roles/theme";
import { Welcome } from "../setup/Welcome";
import * as acts from "../state/acts";
import { awaitsDigits, mayDo, useMe } from "../state/me";
import { useProviders, useRoles, useSettings, useWorkspaces } from "../state/queries";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/chat";
import { t as jobTexts } from "../texts/jobs";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import { radioKeys } from "../ui/radios";
import { SidebarButton } from "../ui/SidebarButton";
import type { Chat } from "../wire/nouns";
import { Completion, useCompletion } from "../workflows/Completion";
import { keyOf, openWorkflows } from "../workflows/opening";
import { examplesFor } from "./examples";
import { ReadOnlyNote } from "./ReadOnlyNote";
import { WorkspaceMenu } from "./WorkspaceMenu";

const NewJobDialog = lazy(() => import("../jobs/NewJobDialog"));
const NEW = "new";

export function Home({ onSidebar }: { onSidebar: () => void }) {
  const [role, setRole] = useState("actor");
  const [chosenFolder, setFolder] = useState<string | null>(null);
  const [chosenModel, setModel] = useState<string | null>(null);
  const [words, setWords] = useState(() => draftOf(NEW));
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const { data: providers = [], isPending: asksWhoAnswers } = useProviders();
  const { data: workspaces = [], isPending: asksFolders } = useWorkspaces();
  const asksWhere = [asksFolders, useSettings().isPending].includes(true);
  // What was used last, as long as it is there; null is what the server uses by default.
  const lastFolder = preference("folder");
  const lastModel = preference("model");
  const workspace = chosenFolder ?? (workspaces.some(({ root }) => root === lastFolder) ? lastFolder : null);
  const model = chosenModel ?? (providers.some(({ name }) => lastModel?.split("/")[0] === name) ? lastModel : null);
  // Their names decide how wide and how high the row is: until they are known, it and what is below it only keep their place.
  const untilKnown = (asksWhoAnswers || asksWhere) && "invisible";
  const onlyGuide = providers.length > 0 && providers.every(({ kind }) => kind === "guide");
  const look = lookOf(useRoles(), role);
  const write = (next: string) => {
    setWords(next);
    keepDraft(NEW, next);
  };
  const made = useRef<{ wish: string; chat: Chat } | null>(null); // its first message did not arrive: it is sent to the same chat again
  const opened = async () => {
    const wish = { agent_role: role, ...(workspace ? { workspace } : {}), ...(model ? { model } : {}) };
    const same = JSON.stringify(wish);
    if (made.current?.wish !== same) made.current = { wish: same, chat: await acts.newChat(wish) };
    return made.current.chat;
  };
  const enter = async (first: (chatId: string) => Promise<void> | void) => {
    if (busy) return;
    setBusy(true);
    await attempt(
      opened().then(async (chat) => {
        await first(chat.id);
        const typedSince = draftOf(NEW).startsWith(words) ? draftOf(NEW).slice(words.length) : "";
        if (typedSince.trim()) keepDraft(chat.id, typedSince.trimStart()); // while the chat was made: it is another message
        write("");
        void queries.invalidateQueries({ queryKey: CHATS });
        location.hash = `#/chat/${chat.id}`;
      }),
    );
    setBusy(false);
  };
  const [job, setJob] = useState<{ chatId: string; request: string } | null>(null);
  const offerJob = () => void attempt(opened().then(({ id }) => setJob({ chatId: id, request: words })));
  const begin = () => words.trim() && void enter((chatId) => acts.send(chatId, words));
  const completing = useCompletion(
    { workspace },
    words,
    true,
    write,
    (workflow) => void enter(() => openWorkflows(keyOf(workflow))),
  );
  const me = useMe();
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col overflow-y-auto">
      <div className="p-2">
        <SidebarButton onClick={onSidebar} />
      </div>
      {/* From the top, the roles above all that changes: nothing that is chosen or arrives later moves what one is about to press. */}
      <div className="mx-auto w-full max-w-[43rem] px-4 pt-4 pb-16 sm:px-6 sm:pt-[clamp(0.5rem,15vh,10rem)]">
        <h1 className="text-center text-2xl font-semibold tracking-tight sm:text-[28px]">{t.whatShouldBeDone}</h1>
        {mayDo(me, "POST /context") ? (
          <>
            <div className="mt-5">
              <RoleChips role={role} onChoose={setRole} />
            </div>
            <p className="mt-2 min-h-12 text-center text-ink-2">{look.tooltip}</p>
            <div className="mt-4 -mb-2">
              <Completion shown={completing.shown} at={completing.at} />
            </div>
            <form
              data-colour={look.colour}
              onSubmit={(event) => {
                event.preventDefault();
                begin();
              }}
              className="mt-4 rounded-2xl border border-line-strong/80 bg-surface p-2 shadow-sm focus-within:border-role/60 focus-within:ring-1 focus-within:ring-role/60 focus-within:shadow-md"
            >
              <textarea
                id="composer"
                autoFocus
                rows={3}
                dir="auto"
                aria-label={t.message}
                placeholder={t.tellWhatYouWant(look.title)}
                value={words}
                onChange={({ target }) => write(target.value)}
                {...completing.aria}
                onKeyDown={(event) => {
                  if (event.nativeEvent.isComposing) return;
                  if (completing.onKey(event)) return event.preventDefault();
                  if (event.key !== "Enter" || event.shiftKey) return;
                  event.preventDefault();
                  begin();
                }}
                className="max-h-60 min-h-20 w-full resize-none bg-transparent px-2.5 py-2 outline-none placeholder:text-ink-3"
              />
              <div className={clsx("flex items-center justify-between gap-2", untilKnown)}>
                <div className="flex min-w-0 flex-wrap items-center">
                  <WorkspaceMenu workspace={workspace} onChoose={setFolder} />
                  <ModelButton model={model} onChoose={setModel} named />
                </div>
                {words.trim() && mayDo(me, "POST /context/{chat_id}/jobs") && (
                  <button
                    type="button"
                    aria-label={jobTexts.runAsJob}
                    title={jobTexts.runAsJob}
                    disabled={busy}
                    onClick={offerJob}
                    className="ml-auto inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl text-ink-2 hover:bg-sunken hover:text-ink disabled:opacity-30"
                  >
                    <Network size={18} aria-hidden />
                  </button>
                )}
                <button
                  type="submit"
                  aria-label={t.start}
                  disabled={busy || !words.trim()}
                  className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl bg-ink text-paper transition-opacity disabled:opacity-30"
                >
                  <ArrowUp size={18} aria-hidden />
                </button>
              </div>
            </form>
            <Outcomes page className="mt-3" />
            <ul
              aria-label={t.thingsToTry}
              className={clsx("mt-4 flex flex-wrap justify-center gap-2", untilKnown)} // who answers decides what can be tried
            >
              {examplesFor(role, onlyGuide).map((example) => (
                <li key={example}>
                  <button
                    type="button"
                    onClick={() => {
                      write(example);
                      focusComposer();
                    }}
                    className="rounded-full border border-line bg-surface px-3.5 py-1.5 thumb:min-h-11 text-left text-sm text-ink-2 hover:border-line-strong hover:text-ink"
                  >
                    {example}
                  </button>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <div className="mt-5">
            <ReadOnlyNote />
          </div>
        )}
        {job && (
          <Suspense fallback={null}>
            <NewJobDialog {...job} onClose={() => setJob(null)} onStarted={() => void enter(() => setJob(null))} />
          </Suspense>
        )}
        {(me.may("manage") || awaitsDigits(me)) && (
          <div className={clsx(untilKnown)}>
            <Welcome providers={providers} />
          </div>
        )}
      </div>
    </main>
  );
}

export function RoleChips({ role, onChoose }: { role: string; onChoose: (role: string) => void }) {
  const roles = useRoles();
  return (
    <div
      role="radiogroup"
      aria-label={t.role}
      onKeyDown={radioKeys(
        roles.map(({ name }) => name),
        role,
        onChoose,
      )}
      className="flex min-h-9 flex-wrap justify-center gap-1 thumb:min-h-23 sm:-mx-6"
    >
      {roles.map(({ name }) => {
        const { Icon, title, colour, tooltip } = lookOf(roles, name);
        const chosen = name === role;
        return (
          <button
            key={name}
            type="button"
            role="radio"
            aria-checked={chosen}
            tabIndex={chosen ? 0 : -1}
            title={tooltip}
            data-colour={colour}
            onPointerDown={({ pointerType, button }) => pointerType === "mouse" && button === 0 && onChoose(name)}
            onClick={() => onChoose(name)} // and already when it is pressed: a banner may move it away before it is released
            className={clsx(
              "inline-flex min-h-9 thumb:min-h-11 items-center gap-1.5 rounded-full border px-3 text-sm font-medium",
              chosen ? "border-role/50 bg-role-soft text-role" : "border-transparent text-ink-2 hover:bg-sunken",
            )}
          >
            <Icon size={15} strokeWidth={2.3} aria-hidden /> {title}
          </button>
        );
      })}
    </div>
  );
}
