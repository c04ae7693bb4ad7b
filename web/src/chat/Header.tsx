import { Bot, Ellipsis, FolderClosed, History, PanelLeft, Pencil, Scale, Trash2, WifiOff } from "lucide-react";
import { RoleSelector } from "../roles/RoleSelector";
import { useProviders } from "../state/queries";
import { IconButton } from "../ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuOption } from "../ui/Menu";
import type { StreamStatus } from "../wire/stream";
import { Meter } from "./Meter";
import { useUsage } from "./usage";

interface Props {
  chatId: string;
  title: string;
  workspace: string;
  role: string;
  model: string | null;
  spent: number | null;
  status: StreamStatus;
  onRole: (role: string) => void;
  onModel: (model: string) => void;
  onRename: () => void;
  onRemove: () => void;
  onSidebar: () => void;
  onCheckpoints: () => void;
  onCompare: () => void;
}

export function Header(props: Props) {
  const { data: usage } = useUsage(props.chatId, props.spent, props.model);
  return (
    <header className="@container flex h-14 shrink-0 items-center gap-2 border-b border-line bg-paper/90 px-2 sm:px-4">
      <IconButton label="Show or hide the chats" onClick={props.onSidebar}>
        <PanelLeft size={18} aria-hidden />
      </IconButton>
      <div className="min-w-0 flex-1">
        <h1 dir="auto" title={props.title} className="truncate text-left text-sm font-semibold sm:text-[15px]">{props.title}</h1>
        {props.workspace && (
          <p className="hidden items-center gap-1 truncate text-xs text-ink-3 sm:flex" title={props.workspace}>
            <FolderClosed size={11} aria-hidden className="shrink-0" />
            <span className="truncate">{props.workspace}</span>
          </p>
        )}
      </div>
      {props.status === "reconnecting" && (
        <span role="status" className="inline-flex items-center gap-1.5 rounded-full bg-warn-soft px-2.5 py-1 text-xs font-medium text-warn">
          <WifiOff size={13} aria-hidden /> <span className="hidden sm:inline">Reconnecting…</span>
        </span>
      )}
      <IconButton label="Checkpoints" onClick={props.onCheckpoints} className="hidden @lg:inline-flex">
        <History size={17} aria-hidden />
      </IconButton>
      {usage && <Meter usage={usage} />}
      <ModelMenu model={props.model} onModel={props.onModel} />
      {props.role && <RoleSelector role={props.role} onChoose={props.onRole} />}
      <Menu
        label="Chat"
        align="end"
        trigger={
          <button type="button" aria-label="More about this chat" className="inline-flex size-9 items-center justify-center rounded-lg text-ink-2 hover:bg-sunken">
            <Ellipsis size={18} aria-hidden />
          </button>
        }
      >
        <MenuItem onSelect={props.onCheckpoints}>
          <History size={15} aria-hidden /> Checkpoints
        </MenuItem>
        <MenuItem onSelect={props.onCompare}>
          <Scale size={15} aria-hidden /> Plan against actual
        </MenuItem>
        <MenuItem onSelect={props.onRename}>
          <Pencil size={15} aria-hidden /> Rename
        </MenuItem>
        <MenuItem danger onSelect={props.onRemove}>
          <Trash2 size={15} aria-hidden /> Delete this chat
        </MenuItem>
      </Menu>
    </header>
  );
}

function ModelMenu({ model, onModel }: { model: string | null; onModel: (model: string) => void }) {
  const { data: providers = [] } = useProviders();
  const standard = providers.find((one) => one.default);
  const answering = model ?? (standard ? `${standard.name}${standard.models[0] && standard.kind !== "guide" ? `/${standard.models[0]}` : ""}` : "…");
  const choices = providers.flatMap(({ name, kind, models }) => (kind === "guide" ? [name] : models.map((one) => `${name}/${one}`)));
  return (
    <Menu
      label="Who answers"
      align="end"
      trigger={
        <button type="button" aria-label={`Answering: ${answering}`} title={`Answering: ${answering}`} className="inline-flex min-h-9 max-w-44 items-center gap-1.5 rounded-lg px-2 text-sm text-ink-2 hover:bg-sunken">
          <Bot size={16} aria-hidden className="shrink-0" />
          <span className="hidden truncate @2xl:inline">{answering}</span>
        </button>
      }
    >
      <MenuLabel>Who answers in this chat</MenuLabel>
      <MenuChoice value={answering} onChoose={onModel}>
        {choices.map((choice) => (
          <MenuOption key={choice} value={choice} className={choice === answering ? "font-semibold" : ""}>
            {choice}
          </MenuOption>
        ))}
      </MenuChoice>
    </Menu>
  );
}
