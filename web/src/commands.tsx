// What the palette offers, from what there is: chats, roles, places.

import {
  Bell,
  Bot,
  CalendarClock,
  Coins,
  Cpu,
  File,
  Folder,
  Globe,
  GraduationCap,
  Hand,
  Info,
  Keyboard,
  KeyRound,
  type LucideIcon,
  MessageSquare,
  Moon,
  Network,
  Palette as PaletteIcon,
  PanelLeft,
  Plug,
  Plus,
  Puzzle,
  Server,
  Settings,
  ShieldCheck,
  Square,
  Sun,
  Users,
  Workflow,
} from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import { setPreference } from "./browser/preferences";
import { lookOf } from "./roles/theme";
import * as acts from "./state/acts";
import { useFilesByName } from "./state/filesByName";
import { useLive } from "./state/live";
import { mayDo, useMe, wordingFor } from "./state/me";
import { openFile } from "./state/openFiles";
import { useRoles } from "./state/queries";
import { useChats, useSought } from "./state/sidebar";
import { t } from "./texts/app";
import { t as jobs } from "./texts/jobs";
import { t as mcp } from "./texts/mcp";
import { t as notifications } from "./texts/notifications";
import { t as people } from "./texts/people";
import { t as schedules } from "./texts/schedules";
import { t as settings } from "./texts/settings";
import { t as usage } from "./texts/usage";
import { t as workers } from "./texts/workers";
import { attempt } from "./ui/outcomes";
import type { Command } from "./ui/Palette";
import { openWorkflows } from "./workflows/opening";

const SIZE = 16;
const MOST_FILES = 8;

/** The pages of the settings as setup/pages.tsx lists them: the page's own list would load all of them. */
export const SETTINGS: readonly (readonly [id: string, words: string, Icon: LucideIcon, forAll?: true])[] = [
  ["models", settings.pages.models, Cpu],
  ["workspaces", settings.pages.workspaces, Folder],
  ["permissions", settings.pages.permissions, ShieldCheck],
  ["agents", settings.pages.agents, Bot],
  ["skills", settings.pages.skills, GraduationCap],
  ["mcp", mcp.title, Plug],
  ["plugins", settings.pages.plugins, Puzzle],
  ["schedules", schedules.page, CalendarClock, true],
  ["api-keys", settings.pages.apiKeys, KeyRound],
  ["people", people.page, Users],
  ["workers", workers.page, Server],
  ["web", settings.pages.web, Globe],
  ["usage", usage.page, Coins, true],
  ["appearance", settings.pages.appearance, PaletteIcon, true],
  ["notifications", notifications.page, Bell, true],
  ["about", settings.pages.about, Info],
];

interface Props {
  /** What is looked for: chats that are not in the list, and files of the open chat's workspace, are found by it. */
  sought: string;
  onWaiting: () => void;
  onShortcuts: () => void;
  onSidebar: () => void;
}

export function useCommands({ sought, onWaiting, onShortcuts, onSidebar }: Props): Command[] {
  const roles = useRoles();
  const me = useMe();
  const chatId = useLive((live) => live.chatId);
  const running = useLive((live) => live.view !== null && live.view.state !== "idle");
  const { waiting, pinned, others } = useChats("");
  const words = useDeferredValue(sought.trim());
  const older = useSought(words);
  const files = useFilesByName(words ? chatId : null, words, MOST_FILES);
  return useMemo(() => {
    const go = (hash: string) => () => {
      location.hash = hash;
    };
    const commands: Command[] = [
      { id: "new", words: t.newChat, icon: <Plus size={SIZE} aria-hidden />, run: go("#/"), needs: "POST /context" },
    ];
    if (chatId && running)
      commands.push({
        id: "stop",
        words: t.stopTheAgent,
        icon: <Square size={SIZE} aria-hidden />,
        needs: "POST /context/{chat_id}/stop",
        run: () => void attempt(acts.stop(chatId)),
      });
    if (chatId)
      commands.push({
        id: "workflows",
        words: t.workflows,
        icon: <Workflow size={SIZE} aria-hidden />,
        needs: "POST /workflows/{name}/execute",
        run: () => openWorkflows(),
      });
    for (const { name } of chatId ? roles : []) {
      const { Icon, title } = lookOf(roles, name);
      commands.push({
        id: `role-${name}`,
        words: t.switchTo(title),
        icon: <Icon size={SIZE} aria-hidden />,
        note: t.role,
        needs: "PUT /context/{chat_id}/role",
        run: () => void attempt(acts.switchRole(chatId!, name, false)),
      });
    }
    if (waiting.length > 0)
      commands.push({
        id: "waiting",
        words: wordingFor(me)(t.nextChatThatWaitsFor, people.readers.nextChatThatWaits),
        icon: <Hand size={SIZE} aria-hidden />,
        note: String(waiting.length),
        run: onWaiting,
      });
    const listed = [...waiting, ...pinned, ...others];
    const known = new Set(listed.map(({ id }) => id));
    for (const chat of [...listed, ...older.filter(({ id }) => !known.has(id))]) {
      commands.push({
        id: chat.id,
        words: chat.title,
        icon: <MessageSquare size={SIZE} aria-hidden />,
        note: t.chat,
        run: go(`#/chat/${chat.id}`),
      });
    }
    for (const { path, kind } of files)
      if (kind === "file")
        commands.push({
          id: `file-${path}`,
          words: path,
          icon: <File size={SIZE} aria-hidden />,
          note: t.file,
          run: () => openFile(path),
        });
    commands.push(
      { id: "settings", words: t.settings, icon: <Settings size={SIZE} aria-hidden />, run: go("#/settings") },
      { id: "jobs", words: jobs.jobs, icon: <Network size={SIZE} aria-hidden />, run: go("#/jobs") },
      ...SETTINGS.map(
        ([id, words, Icon, forAll]): Command => ({
          id: `settings-${id}`,
          words,
          icon: <Icon size={SIZE} aria-hidden />,
          note: t.settings,
          ...(forAll ? {} : { needs: "PUT /settings" as const }),
          run: go(`#/settings/${id}`),
        }),
      ),
      {
        id: "dark",
        words: t.darkTheme,
        icon: <Moon size={SIZE} aria-hidden />,
        run: () => setPreference("theme", "dark"),
      },
      {
        id: "light",
        words: t.lightTheme,
        icon: <Sun size={SIZE} aria-hidden />,
        run: () => setPreference("theme", "light"),
      },
      { id: "sidebar", words: t.showOrHideTheChats, icon: <PanelLeft size={SIZE} aria-hidden />, run: onSidebar },
      { id: "shortcuts", words: t.keyboardShortcuts, icon: <Keyboard size={SIZE} aria-hidden />, run: onShortcuts },
    );
    return commands.filter(({ needs }) => !needs || mayDo(me, needs));
  }, [roles, me, chatId, running, waiting, pinned, others, older, files, onWaiting, onShortcuts, onSidebar]);
}
