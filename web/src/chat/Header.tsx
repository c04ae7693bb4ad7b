import { Bot, Check, Ellipsis, FolderClosed, Gauge, History, Pencil, Printer, Scale, Trash2, WifiOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { AutonomyChoice, AutonomySelector } from "../autonomy/AutonomySelector";
import { RoleSelector } from "../roles/RoleSelector";
import { useProviders } from "../state/queries";
import type { Autonomy } from "../state/reduce";
import { IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuLine, MenuOption } from "../ui/Menu";
import { useNarrow } from "../ui/narrow";
import { Details, Meter } from "./Meter";
import { printChat } from "./Printed";
import { SidebarButton } from "./SidebarButton";
import { usageWords, useUsage } from "./usage";

interface Props {
  chatId: string;
  title: string;
  workspace: string;
  role: string;
  model: string | null;
  spent: number | null;
  /** Its events alone cannot be heard: where none can, the page says so. */
  alone: boolean;
  onRole: (role: string) => void;
  onModel: (model: string) => void;
  autonomy: Autonomy | null;
  onAutonomy: (autonomy: Autonomy) => void;
  onRename: () => void;
  onRemove: () => void;
  onSidebar: () => void;
  onCheckpoints: () => void;
  onCompare: () => void;
}

/** At phone width the title and the role keep their room: who answers, and what was used, stand in the menu. */
export function Header(props: Props) {
  const { data: usage } = useUsage(props.chatId, props.spent, props.model);
  const narrow = useNarrow();
  const [looking, setLooking] = useState(false);
  const used = usage ? usageWords(usage) : "";
  const models = <Models model={props.model} onModel={props.onModel} />;
  return (
    <header className="@container flex h-14 shrink-0 items-center gap-1 border-b border-line bg-paper/90 px-2 sm:gap-2 sm:px-4">
      <SidebarButton onClick={props.onSidebar} />
      <div className="min-w-0 flex-1">
        <h1 dir="auto" title={props.title} className="truncate text-left text-sm font-semibold sm:text-[15px]">{props.title}</h1>
        {props.workspace && (
          <p className="hidden items-center gap-1 truncate text-xs text-ink-3 sm:flex" title={props.workspace}>
            <FolderClosed size={11} aria-hidden className="shrink-0" />
            <span className="truncate">{props.workspace}</span>
          </p>
        )}
      </div>
      {props.alone && (
        <span role="status" className="inline-flex items-center gap-1.5 rounded-full bg-warn-soft px-2.5 py-1 text-xs font-medium text-warn">
          <WifiOff size={13} aria-hidden /> <span className="hidden sm:inline">Reconnecting…</span>
        </span>
      )}
      {!narrow && (
        <>
          <IconButton label="Checkpoints" onClick={props.onCheckpoints} className="@max-lg:hidden">
            <History size={17} aria-hidden />
          </IconButton>
          {usage && <Meter usage={usage} />}
          <ModelMenu model={props.model}>{models}</ModelMenu>
        </>
      )}
      {props.autonomy && (!narrow || props.autonomy !== "ask") && <AutonomySelector autonomy={props.autonomy} onChoose={props.onAutonomy} />}
      {props.role && <RoleSelector role={props.role} onChoose={props.onRole} />}
      <Menu
        label="Chat"
        align="end"
        trigger={
          <button type="button" aria-label="More about this chat" className="inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-ink-2 hover:bg-sunken thumb:size-11">
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
        <MenuItem onSelect={() => setTimeout(() => void printChat())}>
          <Printer size={15} aria-hidden /> Print
        </MenuItem>
        <MenuItem danger onSelect={props.onRemove}>
          <Trash2 size={15} aria-hidden /> Delete this chat
        </MenuItem>
        {narrow && (
          <>
            <MenuLine />
            {props.autonomy && <AutonomyChoice autonomy={props.autonomy} onChoose={props.onAutonomy} />}
            {models}
            {used && (
              <MenuItem onSelect={() => setLooking(true)}>
                <Gauge size={15} aria-hidden /> Used in this chat: {used}
              </MenuItem>
            )}
          </>
        )}
      </Menu>
      {usage && (
        <Dialog title="What this chat has used" open={looking} onClose={() => setLooking(false)}>
          <Details usage={usage} />
        </Dialog>
      )}
    </header>
  );
}

function ModelMenu({ model, children }: { model: string | null; children: ReactNode }) {
  const { answering } = useModels(model);
  return (
    <Menu
      label="Who answers"
      align="end"
      trigger={
        <button type="button" aria-label={`Answering: ${answering}`} title={`Answering: ${answering}`} className="inline-flex min-h-9 max-w-44 items-center gap-1.5 rounded-lg px-2 text-sm text-ink-2 hover:bg-sunken thumb:min-h-11">
          <Bot size={16} aria-hidden className="shrink-0" />
          <span className="hidden truncate @2xl:inline">{answering}</span>
        </button>
      }
    >
      {children}
    </Menu>
  );
}

function Models({ model, onModel }: { model: string | null; onModel: (model: string) => void }) {
  const { answering, choices } = useModels(model);
  return (
    <>
      <MenuLabel>Who answers in this chat</MenuLabel>
      <MenuChoice value={answering} onChoose={onModel}>
        {choices.map((choice) => (
          <MenuOption key={choice} value={choice} className={choice === answering ? "font-semibold" : ""}>
            <span className="min-w-0 flex-1 break-all">{choice}</span>
            {choice === answering && <Check size={15} aria-label="chosen" className="shrink-0" />}
          </MenuOption>
        ))}
      </MenuChoice>
    </>
  );
}

function useModels(model: string | null): { answering: string; choices: string[] } {
  const { data: providers = [] } = useProviders();
  const standard = providers.find((one) => one.default);
  const answering = model ?? (standard ? `${standard.name}${standard.models[0] && standard.kind !== "guide" ? `/${standard.models[0]}` : ""}` : "…");
  return { answering, choices: providers.flatMap(({ name, kind, models }) => (kind === "guide" ? [name] : models.map((one) => `${name}/${one}`))) };
}
