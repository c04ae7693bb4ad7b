// The frame: the list of chats beside one page, and what can be reached from everywhere.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { lazy, type MouseEvent, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Redirect, Route, Router, Switch } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { preference, setPreference } from "./browser/preferences";
import { Home } from "./chat/Home";
import { Sidebar } from "./chat/Sidebar";
import { useCommands } from "./commands";
import { focusComposer } from "./composer/focusComposer";
import { useTypedText } from "./composer/typedText";
import { ConfirmSession } from "./setup/ConfirmSession";
import { SignIn } from "./setup/SignIn";
import { chatAt, link, useLive } from "./state/live";
import { followMe, useWording } from "./state/me";
import { followAll, readAgain, useChats, useConnection } from "./state/sidebar";
import { t } from "./texts/app";
import { t as people } from "./texts/people";
import { Banner } from "./ui/Banner";
import { Button } from "./ui/Button";
import { ErrorBoundary } from "./ui/ErrorBoundary";
import { useHotkeys } from "./ui/hotkeys";
import { useKeptFocus } from "./ui/keptFocus";
import { isNarrow, useNarrow } from "./ui/narrow";
import { say } from "./ui/outcomes";
import { Palette } from "./ui/Palette";
import { Shortcuts } from "./ui/Shortcuts";
import { SidebarHidden } from "./ui/SidebarButton";
import { holdStrayFiles } from "./ui/strayFiles";
import { Toaster } from "./ui/Toaster";

const JobPage = lazy(() => import("./jobs/JobPage"));
const JobsPage = lazy(() => import("./jobs/JobsPage"));
const SettingsPage = lazy(() => import("./setup/SettingsPage"));
const IDLE = 200; // ms after the start page is drawn
const ChatPage = lazy(loadChatPage);

/** The page of a chat is large (Markdown, cards, virtual list): a link to a chat asks for it at once, the start page when it rests. */
export function loadChatPage() {
  return import("./chat/ChatPage");
}

export function App() {
  return (
    <Router hook={useHashLocation}>
      <Frame />
    </Router>
  );
}

function Frame() {
  const [path] = useHashLocation();
  const queries = useQueryClient();
  const connection = useConnection();
  const narrow = useNarrow();
  const [sidebar, setSidebar] = useState(false);
  // A window that becomes narrow, as a tablet that is turned, has its list beside the page no longer.
  useLayoutEffect(() => setSidebar(!narrow && preference("sidebar") !== "hidden"), [narrow]);
  const [open, setOpen] = useState<"palette" | "shortcuts" | null>(null);
  useEffect(() => followAll(queries), [queries]);
  useEffect(() => followMe(queries), [queries]);
  useEffect(holdStrayFiles, []);
  useEffect(() => void setTimeout(() => void loadChatPage().catch(() => null), IDLE), []); // a chat that is opened asks again
  useLineBack();
  useKeptFocus();
  useTypedText();
  useArrival(path);
  useNews(queries);
  useTitle();
  const toggle = () => {
    if (!isNarrow()) setPreference("sidebar", sidebar ? "hidden" : "shown");
    setSidebar(!sidebar);
  };
  const leave = () => isNarrow() && setSidebar(false);
  useEffect(() => void leave(), [path]); // the way back leads to a page, not to a page behind a drawer
  const drawer = useDrawer(sidebar, leave);
  const { waiting } = useChats("");
  const wording = useWording();
  const next = () => {
    const after = waiting[waiting.findIndex(({ id }) => id === chatAt(path)) + 1] ?? waiting[0];
    if (after) location.hash = `#/chat/${after.id}`;
    else say(wording(t.noChatWaitsForYou, people.readers.noChatWaits));
  };
  useHotkeys({
    palette: () => setOpen("palette"),
    shortcuts: () => setOpen("shortcuts"),
    newChat: () => (location.hash = "#/"),
    composer: focusComposer,
    sidebar: toggle,
    waiting: next,
  });
  const [sought, setSought] = useState("");
  const commands = useCommands({ sought, onWaiting: next, onShortcuts: () => setOpen("shortcuts"), onSidebar: toggle });
  if (connection === "unauthorized") return <SignIn />;
  return (
    <div className="flex h-full">
      <a
        href="#main"
        onClick={skip}
        className="sr-only z-50 rounded-lg bg-ink px-4 py-2 text-paper focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        {t.skipTheListOfChats}
      </a>
      {sidebar && (
        <button
          type="button"
          aria-label={t.closeTheListOfChats}
          onClick={() => setSidebar(false)}
          className="fixed inset-0 z-20 bg-black/35 md:hidden"
        />
      )}
      <div
        ref={drawer}
        tabIndex={-1}
        className={clsx(
          "outline-none inset-y-0 left-0 z-30 w-72 shrink-0 border-r border-line bg-paper max-md:fixed max-md:shadow-2xl md:w-68",
          !sidebar && "hidden",
        )}
      >
        <Sidebar current={chatAt(path)} onLeave={leave} onPalette={() => setOpen("palette")} />
      </div>
      <div id="main" tabIndex={-1} className="relative flex min-w-0 flex-1 flex-col outline-none">
        <Banner connection={connection} />
        <ConfirmSession />
        <div className="flex min-h-0 flex-1">
          <ErrorBoundary
            key={path.startsWith("/settings") ? "/settings" : path.split("/", 3).join("/")}
            fallback={<Broken />}
          >
            <SidebarHidden value={!sidebar}>
              <Pages onSidebar={toggle} />
            </SidebarHidden>
          </ErrorBoundary>
        </div>
      </div>
      <Palette open={open === "palette"} commands={commands} onWords={setSought} onClose={() => setOpen(null)} />
      <Shortcuts open={open === "shortcuts"} onClose={() => setOpen(null)} />
      <Toaster />
    </div>
  );
}

function Pages({ onSidebar }: { onSidebar: () => void }) {
  return (
    <Suspense fallback={<div className="flex-1" aria-busy />}>
      <Switch>
        <Route path="/">
          <Home onSidebar={onSidebar} />
        </Route>
        <Route path="/chat/:id/:message?">
          {({ id, message }) => <ChatPage key={id} chatId={id} messageId={message ?? null} onSidebar={onSidebar} />}
        </Route>
        <Route path="/jobs">
          <JobsPage onSidebar={onSidebar} />
        </Route>
        <Route path="/jobs/:id/:task?">
          {({ id, task }) => (
            <JobPage key={id} jobId={id} taskId={task ? decodeURIComponent(task) : null} onSidebar={onSidebar} />
          )}
        </Route>
        <Route path="/settings/:part?">
          {({ part }) => <SettingsPage part={part ?? null} onSidebar={onSidebar} />}
        </Route>
        <Route>
          <Redirect to="/" />
        </Route>
      </Switch>
    </Suspense>
  );
}

/** Mostly a page whose server was updated under it: what it would load next is no longer there. */
function Broken() {
  return (
    <div role="alert" className="m-auto max-w-sm px-6 pb-24 text-center">
      <h1 className="text-lg font-semibold">{t.thisPartOfThePage}</h1>
      <p className="mt-2 text-sm text-ink-2">{t.theServerDoesNotAnswer}</p>
      <Button look="primary" className="mt-5" onClick={() => location.reload()}>
        {t.loadThePageAgain}
      </Button>
    </div>
  );
}

/** At phone width the list lies over the page: it takes the focus, and Escape gives both back. */
function useDrawer(open: boolean, leave: () => void) {
  const drawer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open || !isNarrow()) return;
    const before = document.activeElement;
    drawer.current?.focus();
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      leave();
    };
    const node = drawer.current;
    node?.addEventListener("keydown", onKey);
    return () => {
      node?.removeEventListener("keydown", onKey);
      if (
        before instanceof HTMLElement &&
        (node?.contains(document.activeElement) || document.activeElement === document.body)
      )
        before.focus();
    };
  }, [open]);
  return drawer;
}

/** A tab that is looked at again after a while may have slept through a hint. */
function useNews(queries: QueryClient): void {
  useEffect(() => {
    const seen = () => !document.hidden && readAgain(queries);
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, [queries]);
}

/** Another page begins at its beginning: the focus of what is gone must not be left nowhere. */
function useArrival(path: string): void {
  const here = useRef(path);
  useEffect(() => {
    if (here.current === path) return;
    here.current = path;
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
  }, [path]);
}

/** The address belongs to the routes, so the jump is made by hand. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** A tab that is looked at again, or whose network is back, does not wait for the next try; one that is not looked at takes no connection. */
function useLineBack(): void {
  useEffect(() => {
    const nudge = () => !document.hidden && link.nudge();
    const turned = () => (document.hidden ? link.hide() : link.show());
    const bye = () => link.close();
    const back = ({ persisted }: PageTransitionEvent) => persisted && link.reopen();
    window.addEventListener("online", nudge);
    document.addEventListener("visibilitychange", turned);
    window.addEventListener("pagehide", bye);
    window.addEventListener("pageshow", back);
    return () => {
      window.removeEventListener("online", nudge);
      document.removeEventListener("visibilitychange", turned);
      window.removeEventListener("pagehide", bye);
      window.removeEventListener("pageshow", back);
    };
  }, []);
}

/** The tab's title says where one is, and how much waits. */
function useTitle(): void {
  const title = useLive(({ chatId, title: own }) => (chatId ? own : ""));
  const waiting = useChats("").waiting.length;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}AnyCowork`;
  }, [title, waiting]);
}
