import {
  Archive,
  ArchiveRestore,
  Coins,
  Cpu,
  Download,
  Ellipsis,
  FolderClosed,
  FolderTree,
  GitCompareArrows,
  History,
  Pencil,
  Pin,
  PinOff,
  Printer,
  SquareTerminal,
  Trash2,
  WifiOff,
} from "lucide-react";
import { Suspense, useState } from "react";
import { AutonomyChoice, AutonomySelector } from "../autonomy/AutonomySelector";
import { defaultModel, shownModel } from "../models/choices";
import { ModelButton, ModelPicker } from "../models/ModelButton";
import { RoleBadge } from "../roles/RoleBadge";
import { RoleSelector } from "../roles/RoleSelector";
import type { ExportFormat } from "../state/acts";
import { mayDo, useMe } from "../state/me";
import { useProviders } from "../state/queries";
import type { Autonomy } from "../state/reduce";
import { t } from "../texts/chat";
import { t as list } from "../texts/chats";
import { t as files } from "../texts/files";
import { t as terminal } from "../texts/terminal";
import { IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Menu, MenuItem, MenuLine } from "../ui/Menu";
import { useNarrow } from "../ui/narrow";
import { attempt } from "../ui/outcomes";
import { SidebarButton } from "../ui/SidebarButton";
import { Details, Meter } from "./Meter";
import { printChat } from "./Printed";
import { saveExport } from "./saveExport";
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
  pinned: boolean;
  archived: boolean;
  onKeep: (wish: { pinned: boolean } | { archived: boolean }) => void;
  onRename: () => void;
  onRemove: () => void;
  onSidebar: () => void;
  onCheckpoints: () => void;
  onCompare: () => void;
  onFiles: () => void;
  onTerminal: () => void;
}

const EXPORTS: readonly (readonly [ExportFormat, string])[] = [
  ["markdown", list.exportMarkdown],
  ["json", list.exportJson],
  ["html", list.exportHtml],
];

// With its name where there is room for it; else the name is its tip.
const WIDE = "gap-1.5 @6xl:!w-auto @6xl:px-2.5";
const WIDE_NAME = "hidden text-sm @6xl:inline";

/** Where room is scarce the title and the role keep theirs: the model and how much asks stand first in the menu, what was used last. */
export function Header(props: Props) {
  const { data: usage } = useUsage(props.chatId, props.spent, props.model);
  const narrow = useNarrow();
  const me = useMe();
  const changes = mayDo(me, "PATCH /context/{chat_id}");
  const reads = mayDo(me, "GET /context/{chat_id}/file");
  const commands = mayDo(me, "POST /context/{chat_id}/person-commands"); // a person's own run as the server's account
  const [looking, setLooking] = useState(false);
  const used = usage ? usageWords(usage) : "";
  const [picking, setPicking] = useState(false);
  const { data: providers = [], isPending } = useProviders();
  const model = props.model ?? defaultModel(providers);
  return (
    <header className="@container flex h-14 shrink-0 items-center gap-1 border-b border-line bg-paper/90 px-2 sm:gap-2 sm:px-4">
      <SidebarButton onClick={props.onSidebar} />
      <div className="min-w-28 flex-1">
        <h1 dir="auto" title={props.title} className="truncate text-left text-sm font-semibold sm:text-[15px]">
          {props.title}
        </h1>
        {props.workspace && (
          <p className="hidden items-center gap-1 truncate text-xs text-ink-3 sm:flex" title={props.workspace}>
            <FolderClosed size={11} aria-hidden className="shrink-0" />
            <span className="truncate">{props.workspace}</span>
          </p>
        )}
      </div>
      {props.alone && (
        <span
          role="status"
          className="inline-flex items-center gap-1.5 rounded-full bg-warn-soft px-2.5 py-1 text-xs font-medium text-warn"
        >
          <WifiOff size={13} aria-hidden /> <span className="hidden sm:inline">{t.reconnecting}</span>
        </span>
      )}
      {/* From left to right: the wider something may become, the further it is from the edge, and what only is a sign never moves. */}
      {!narrow && (
        <span className={isPending || !props.role ? "invisible flex" : "contents"}>
          {usage && (
            <span className="contents @max-2xl:hidden">
              <Meter usage={usage} />
            </span>
          )}
          {changes && <ModelButton model={props.model} onChoose={props.onModel} />}
        </span>
      )}
      {changes && props.autonomy && (!narrow || props.autonomy !== "ask") && (
        <AutonomySelector autonomy={props.autonomy} onChoose={props.onAutonomy} />
      )}
      {props.role &&
        (mayDo(me, "PUT /context/{chat_id}/role") ? (
          <RoleSelector role={props.role} onChoose={props.onRole} />
        ) : (
          <RoleBadge role={props.role} />
        ))}
      {!narrow && (
        <>
          {reads && (
            <IconButton label={files.showFiles} onClick={props.onFiles} className={WIDE}>
              <FolderTree size={17} aria-hidden />
              <span className={WIDE_NAME}>{files.showFiles}</span>
            </IconButton>
          )}
          {commands && (
            <IconButton label={terminal.showTerminal} onClick={props.onTerminal} className={`@max-2xl:hidden ${WIDE}`}>
              <SquareTerminal size={17} aria-hidden />
              <span className={WIDE_NAME}>{terminal.showTerminal}</span>
            </IconButton>
          )}
          <IconButton label={t.checkpoints} onClick={props.onCheckpoints} className={`@max-2xl:hidden ${WIDE}`}>
            <History size={17} aria-hidden />
            <span className={WIDE_NAME}>{t.checkpoints}</span>
          </IconButton>
        </>
      )}
      <Menu
        label={t.chat}
        align="end"
        trigger={
          <button
            type="button"
            aria-label={t.moreAboutThisChat}
            title={t.moreAboutThisChat}
            className="inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-ink-2 hover:bg-sunken thumb:size-11"
          >
            <Ellipsis size={18} aria-hidden />
          </button>
        }
      >
        {narrow && changes && (
          <>
            <MenuItem onSelect={() => setPicking(true)}>
              <Cpu size={15} aria-hidden className="shrink-0" />{" "}
              <span className="min-w-0 break-all">{t.model(shownModel(model))}</span>
            </MenuItem>
            {props.autonomy && <AutonomyChoice autonomy={props.autonomy} onChoose={props.onAutonomy} />}
            <MenuLine />
          </>
        )}
        {reads && (
          <MenuItem onSelect={props.onFiles}>
            <FolderTree size={15} aria-hidden /> {files.showFiles}
          </MenuItem>
        )}
        {commands && (
          <MenuItem onSelect={props.onTerminal}>
            <SquareTerminal size={15} aria-hidden /> {terminal.showTerminal}
          </MenuItem>
        )}
        <MenuItem onSelect={props.onCheckpoints}>
          <History size={15} aria-hidden /> {t.checkpoints}
        </MenuItem>
        <MenuItem onSelect={props.onCompare}>
          <GitCompareArrows size={15} aria-hidden /> {t.planAgainstActual}
        </MenuItem>
        {used && (
          <MenuItem onSelect={() => setLooking(true)}>
            <Coins size={15} aria-hidden /> {t.usedInThisChat(used)}
          </MenuItem>
        )}
        {changes && (
          <>
            <MenuItem onSelect={props.onRename}>
              <Pencil size={15} aria-hidden /> {t.rename}
            </MenuItem>
            <MenuItem onSelect={() => props.onKeep({ pinned: !props.pinned })}>
              {props.pinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />}{" "}
              {props.pinned ? list.unpin : list.pin}
            </MenuItem>
            <MenuItem onSelect={() => props.onKeep({ archived: !props.archived })}>
              {props.archived ? <ArchiveRestore size={15} aria-hidden /> : <Archive size={15} aria-hidden />}{" "}
              {props.archived ? list.unarchive : list.archive}
            </MenuItem>
          </>
        )}
        <MenuLine />
        {EXPORTS.map(([format, words]) => (
          <MenuItem key={format} onSelect={() => void attempt(saveExport(props.chatId, format))}>
            <Download size={15} aria-hidden /> {words}
          </MenuItem>
        ))}
        <MenuItem onSelect={() => setTimeout(() => void printChat())}>
          <Printer size={15} aria-hidden /> {t.print}
        </MenuItem>
        {mayDo(me, "DELETE /context/{chat_id}") && (
          <>
            <MenuLine />
            <MenuItem danger onSelect={props.onRemove}>
              <Trash2 size={15} aria-hidden /> {t.deleteThisChat2}
            </MenuItem>
          </>
        )}
      </Menu>
      <Suspense fallback={null}>
        {picking && <ModelPicker model={model} onChoose={props.onModel} onClose={() => setPicking(false)} />}
      </Suspense>
      {usage && (
        <Dialog title={t.whatThisChatHasUsed} open={looking} onClose={() => setLooking(false)}>
          <Details usage={usage} />
        </Dialog>
      )}
    </header>
  );
}
