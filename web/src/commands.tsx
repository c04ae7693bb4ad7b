// What the palette offers, from what there is: chats, roles, places.
import {
  Hand,
  Keyboard,
  KeyRound,
  MessageSquare,
  Moon,
  PanelLeft,
  Plus,
  Scale,
  Settings,
  Square,
  Sun,
  Workflow,
} from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import { lookOf } from "./roles/theme";
import * as acts from "./state/acts";
import { useLive } from "./state/live";
import { setPreference } from "./state/preferences";
import { useRoles } from "./state/queries";
import { useChats, useSought } from "./state/sidebar";
import type { Command } from "./ui/Palette";
import { attempt } from "./ui/toasts";
import { openWorkflows } from "./workflows/opening";

const SIZE = 16;

interface Props {
  /** What is looked for: chats that are not in the list are found by it. */
  sought: string;
  onWaiting: () => void;
  onShortcuts: () => void;
  onSidebar: () => void;
}

export function useCommands({ sought, onWaiting, onShortcuts, onSidebar }: Props): Command[] {
  const roles = useRoles();
  const chatId = useLive((live) => live.chatId);
  const running = useLive((live) => live.view !== null && live.view.state !== "idle");
  const { waiting, others } = useChats("");
  const older = useSought(useDeferredValue(sought.trim()));
  return useMemo(() => {
    const go = (hash: string) => () => {
      location.hash = hash;
    };
    const commands: Command[] = [
      { id: "new", words: "New chat", icon: <Plus size={SIZE} aria-hidden />, run: go("#/") },
    ];
    if (chatId && running)
      commands.push({
        id: "stop",
        words: "Stop the agent",
        icon: <Square size={SIZE} aria-hidden />,
        run: () => void attempt(acts.stop(chatId)),
      });
    if (chatId)
      commands.push({
        id: "workflows",
        words: "Workflows",
        icon: <Workflow size={SIZE} aria-hidden />,
        run: () => openWorkflows(),
      });
    for (const { name } of chatId ? roles : []) {
      const { Icon, title } = lookOf(roles, name);
      commands.push({
        id: `role-${name}`,
        words: `Switch to ${title}`,
        icon: <Icon size={SIZE} aria-hidden />,
        note: "role",
        run: () => void attempt(acts.switchRole(chatId!, name, false)),
      });
    }
    if (waiting.length > 0)
      commands.push({
        id: "waiting",
        words: "Next chat that waits for you",
        icon: <Hand size={SIZE} aria-hidden />,
        note: String(waiting.length),
        run: onWaiting,
      });
    const listed = [...waiting, ...others];
    const known = new Set(listed.map(({ id }) => id));
    for (const chat of [...listed, ...older.filter(({ id }) => !known.has(id))]) {
      commands.push({
        id: chat.id,
        words: chat.title,
        icon: <MessageSquare size={SIZE} aria-hidden />,
        note: "chat",
        run: go(`#/chat/${chat.id}`),
      });
    }
    commands.push(
      { id: "settings", words: "Settings", icon: <Settings size={SIZE} aria-hidden />, run: go("#/settings") },
      {
        id: "rules",
        words: "Rules",
        icon: <Scale size={SIZE} aria-hidden />,
        note: "settings",
        run: go("#/settings/rules"),
      },
      {
        id: "keys",
        words: "Client keys",
        icon: <KeyRound size={SIZE} aria-hidden />,
        note: "settings",
        run: go("#/settings/keys"),
      },
      {
        id: "plugins",
        words: "Plugins",
        icon: <Settings size={SIZE} aria-hidden />,
        note: "settings",
        run: go("#/settings/plugins"),
      },
      {
        id: "dark",
        words: "Dark theme",
        icon: <Moon size={SIZE} aria-hidden />,
        run: () => setPreference("theme", "dark"),
      },
      {
        id: "light",
        words: "Light theme",
        icon: <Sun size={SIZE} aria-hidden />,
        run: () => setPreference("theme", "light"),
      },
      { id: "sidebar", words: "Show or hide the chats", icon: <PanelLeft size={SIZE} aria-hidden />, run: onSidebar },
      { id: "shortcuts", words: "Keyboard shortcuts", icon: <Keyboard size={SIZE} aria-hidden />, run: onShortcuts },
    );
    return commands;
  }, [roles, chatId, running, waiting, others, older, onWaiting, onShortcuts, onSidebar]);
}
