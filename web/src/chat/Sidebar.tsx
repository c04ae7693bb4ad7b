import clsx from "clsx";
import {
  ArrowLeft,
  Command,
  FolderArchive,
  Hand,
  ListTree,
  Lock,
  Network,
  Plus,
  Settings,
  TextSearch,
  Users,
} from "lucide-react";
import { Fragment, useDeferredValue, useMemo, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { useWaitingJobs } from "../jobs/jobs";
import { lookOf } from "../roles/theme";
import { grouped } from "../state/chatGroups";
import { useMay, useMe, useWording } from "../state/me";
import { useRoles } from "../state/queries";
import { useMessageSearch } from "../state/search";
import { useChats } from "../state/sidebar";
import { t } from "../texts/chat";
import { t as list } from "../texts/chats";
import { t as jobTexts } from "../texts/jobs";
import { t as people } from "../texts/people";
import { IconButton } from "../ui/Button";
import { keysOf, shown } from "../ui/hotkeys";
import { Logo } from "../ui/Logo";
import { May } from "../ui/May";
import { Outcomes } from "../ui/Outcomes";
import { useAgo } from "../ui/times";
import type { Chat } from "../wire/nouns";
import { serverNow } from "../wire/serverClock";
import { ChatRowMenu } from "./ChatRowMenu";
import { SearchResults } from "./SearchResults";
import { StateMark } from "./StateMark";

interface Props {
  current: string | null;
  onLeave: () => void;
  onPalette: () => void;
}

export function Sidebar({ current, onLeave, onPalette }: Props) {
  const me = useMe();
  const [words, setWords] = useState("");
  const [archived, setArchived] = useState(false);
  const sought = useDeferredValue(words.trim());
  return (
    <nav aria-label={t.chats} className="flex h-full w-full flex-col bg-sunken/55">
      <div className="flex h-14 shrink-0 items-center gap-2.5 px-4">
        <Logo />
        <a
          href="#/"
          onClick={onLeave}
          className="inline-flex items-center text-[15px] font-semibold tracking-tight thumb:min-h-11"
        >
          {t.anycowork}
        </a>
        <button
          type="button"
          onClick={onPalette}
          className="ml-auto inline-flex min-h-6 items-center justify-center rounded-md border border-line-strong/70 px-1.5 font-mono text-[11px] text-ink-3 hover:text-ink thumb:size-11 thumb:border-0"
          aria-label={t.commandPalette(shown(keysOf("palette")))}
        >
          <Command size={17} aria-hidden className="hidden thumb:inline" />
          <span className="thumb:hidden">{shown(keysOf("palette"))}</span>
        </button>
      </div>
      <div className="space-y-2 px-3 pb-2">
        <May needs="POST /context">
          <a
            href="#/"
            onClick={onLeave}
            className="flex min-h-9 thumb:min-h-11 items-center gap-2 rounded-lg border border-line-strong/70 bg-surface px-3 text-sm font-medium hover:bg-paper"
          >
            <Plus size={16} aria-hidden /> {t.newChat}
          </a>
        </May>
        <label className="flex min-h-9 thumb:min-h-11 items-center gap-2 rounded-lg px-3 text-sm outline-2 outline-transparent focus-within:bg-surface focus-within:outline-(--focus) hover:bg-surface">
          <TextSearch size={15} aria-hidden className="text-ink-3" />
          <input
            type="search"
            aria-label={t.searchChats}
            placeholder={t.search}
            value={words}
            onChange={({ target }) => setWords(target.value)}
            className="min-w-0 flex-1 bg-transparent outline-none placeholder:text-ink-3"
          />
        </label>
      </div>
      <Outcomes className="px-3 pb-2" />
      <ChatLists key={String(archived)} words={sought} archived={archived} current={current} onOpen={onLeave} />
      <div className="border-t border-line p-3">
        <div className="flex gap-1">
          <button type="button" onClick={() => setArchived(!archived)} className={clsx(FOOT, "flex-1")}>
            {archived ? <ArrowLeft size={16} aria-hidden /> : <FolderArchive size={16} aria-hidden />}
            {archived ? list.backToChats : list.showArchived}
          </button>
          <GroupingButton />
        </div>
        <a href="#/jobs" onClick={onLeave} className={FOOT}>
          <Network size={16} aria-hidden /> {jobTexts.jobs}
          <WaitingCount />
        </a>
        <a href="#/settings" onClick={onLeave} className={FOOT}>
          <Settings size={16} aria-hidden /> {t.settings}
        </a>
        {!me.owner && (
          <p className="truncate px-3 pt-1 text-xs text-ink-3">{people.youAre(me.name, people.levels[me.access])}</p>
        )}
      </div>
    </nav>
  );
}

const FOOT =
  "flex min-h-9 thumb:min-h-11 items-center gap-2.5 rounded-lg px-3 text-sm text-ink-2 hover:bg-surface hover:text-ink";

function WaitingCount() {
  const count = useWaitingJobs().length;
  const waiting = useWording()(jobTexts.waiting, people.readers.waiting);
  if (count === 0) return null;
  return (
    <span className="ml-auto rounded-full bg-warn-soft px-2 py-0.5 text-xs font-medium text-warn tabular-nums">
      {count} <span className="sr-only">{waiting}</span>
    </span>
  );
}

/** A job whose changes wait to be reviewed or chosen from: no chat says so. */
function WaitingJobs({ onOpen }: { onOpen: () => void }) {
  const waiting = useWording()(jobTexts.waiting, people.readers.waiting);
  return useReviews().map(({ id, request }) => (
    <li key={id}>
      <a
        href={`#/jobs/${id}`}
        onClick={onOpen}
        title={request}
        className="flex min-h-9 thumb:min-h-11 items-center gap-2 rounded-lg px-3 text-sm text-ink-2 hover:bg-surface hover:text-ink"
      >
        <Network size={14} aria-hidden className="shrink-0" />
        <span className="min-w-0 flex-1 truncate">{request}</span>
        <Hand size={14} aria-label={waiting} className="shrink-0 text-warn" />
      </a>
    </li>
  ));
}

function useReviews() {
  return useWaitingJobs().filter(({ status }) => status === "awaiting_commit");
}

/** Groups by date, or by folder. */
function GroupingButton() {
  const by = usePreference("groups") === "workspace" ? "workspace" : "date";
  const label = by === "date" ? list.groupByWorkspace : list.groupByDate;
  return (
    <IconButton label={label} onClick={() => setPreference("groups", by === "date" ? "workspace" : "date")}>
      <ListTree size={16} aria-hidden />
    </IconButton>
  );
}

interface Lists {
  words: string;
  archived: boolean;
  current: string | null;
  onOpen: () => void;
}

function ChatLists({ words, archived, current, onOpen }: Lists) {
  const chats = useChats(words, archived);
  const { waiting, pinned, others } = chats;
  const found = useMessageSearch(words).results;
  const by = usePreference("groups") === "workspace" ? "workspace" : "date";
  const groups = useMemo(() => grouped(others, by, serverNow()), [others, by]);
  const title = useWording()(t.waitingForYou, people.readers.waiting);
  const all = [{ title, chats: waiting }, { title: list.pinned, chats: pinned }, ...groups].filter(
    (group) => group.chats.length > 0,
  );
  const jobs = useReviews().length > 0 && !archived && !words;
  const empty = archived ? list.noArchivedChats : words ? list.nothingFound : t.noChatsYet;
  return (
    <ul className="min-h-0 flex-1 space-y-0.5 overflow-y-auto px-3 pt-1 pb-3">
      {archived && <Heading>{list.archived}</Heading>}
      {jobs && (
        <>
          <Heading>{title}</Heading>
          <WaitingJobs onOpen={onOpen} />
        </>
      )}
      {all.map((group) => (
        <Fragment key={group.title}>
          {!(jobs && group.chats === waiting) &&
            (all.length > 1 || by === "workspace" || group.chats === waiting || group.chats === pinned) && (
              <Heading>{group.title}</Heading>
            )}
          {group.chats.map((chat) => (
            <ChatLine key={chat.id} chat={chat} current={chat.id === current} onOpen={onOpen} />
          ))}
        </Fragment>
      ))}
      {chats.isPending && <Skeleton />}
      {chats.isSuccess && all.length + found.length === 0 && (
        <li className="px-3 py-6 text-center text-sm text-ink-3">{empty}</li>
      )}
      {chats.hasNextPage && (
        <li>
          <button
            type="button"
            onClick={() => void chats.fetchNextPage()}
            className="w-full rounded-lg px-3 py-2 text-sm text-ink-2 hover:bg-surface"
          >
            {t.showOlderChats}
          </button>
        </li>
      )}
      <SearchResults words={words} onOpen={onOpen} />
    </ul>
  );
}

function Heading({ children }: { children: string }) {
  return <li className="px-3 pt-2 pb-1 text-xs font-medium text-ink-3">{children}</li>;
}

/** Said only where it takes a while. */
function Skeleton() {
  return ["w-2/3", "w-2/5", "w-1/2"].map((width) => (
    <li key={width} aria-hidden className="late flex min-h-10 items-center px-3">
      <span className={clsx("breathe h-3 rounded bg-line", width)} />
    </li>
  ));
}

// The menu of a row lies over its end, and what stands there makes way for it; fingers have no hover, so there it has its own place.
const BEHIND_MENU =
  "shrink-0 group-focus-within:opacity-0 group-hover:opacity-0 group-has-aria-expanded:opacity-0 thumb:opacity-100!";

function Age({ iso }: { iso: string }) {
  return <span className="text-[11px] text-ink-3 tabular-nums">{useAgo(iso)}</span>;
}

export function ChatLine({ chat, current, onOpen }: { chat: Chat; current: boolean; onOpen: () => void }) {
  const { Icon, colour, title } = lookOf(useRoles(), chat.config.agent_role);
  const hasMenu = useMay("PATCH /context/{chat_id}");
  return (
    <li
      className={clsx(
        "group relative flex items-center gap-0.5 rounded-lg",
        current ? "bg-surface font-medium shadow-xs dark:bg-sunken" : "text-ink-2 hover:bg-surface/70 hover:text-ink",
      )}
    >
      <a
        href={`#/chat/${chat.id}`}
        onClick={onOpen}
        title={chat.title}
        aria-current={current ? "page" : undefined}
        className="flex min-h-10 thumb:min-h-11 min-w-0 flex-1 items-center gap-2.5 rounded-lg px-3 py-1.5 text-sm"
      >
        <span data-colour={colour} className="shrink-0 text-role">
          <Icon size={14} strokeWidth={2.3} aria-label={title} />
        </span>
        <span dir="auto" className="min-w-0 flex-1 truncate text-left">
          {chat.title}
        </span>
        <SeenBy visibility={chat.visibility} />
        <span className={hasMenu ? BEHIND_MENU : "shrink-0"}>
          {chat.state === "idle" && !chat.waiting ? (
            <Age iso={chat.updated_at} />
          ) : (
            <StateMark state={chat.state} waiting={chat.waiting ?? null} />
          )}
        </span>
      </a>
      <ChatRowMenu chat={chat} />
    </li>
  );
}

/** Says who sees a chat that is not for everyone. */
function SeenBy({ visibility = "everyone" }: { visibility?: string | undefined }) {
  if (visibility === "private") return <Lock size={13} className="shrink-0" aria-label={list.privateChat} />;
  if (!visibility.startsWith("group:")) return null;
  return <Users size={13} className="shrink-0" aria-label={list.sharedWith(visibility.slice("group:".length))} />;
}
