// What can be done with a chat from its row in the sidebar, without opening it.
import { useQueryClient } from "@tanstack/react-query";
import { Archive, ArchiveRestore, Ellipsis, Eye, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { useState } from "react";
import { mayShare, VisibilityDialog } from "../content/VisibilityDialog";
import * as acts from "../state/acts";
import { useMe } from "../state/me";
import { CHATS } from "../state/sidebar";
import { t } from "../texts/chat";
import { t as list } from "../texts/chats";
import { May } from "../ui/May";
import { Menu, MenuItem, MenuLine } from "../ui/Menu";
import { attempt } from "../ui/outcomes";
import type { Chat } from "../wire/nouns";
import { RemoveDialog, RenameDialog } from "./ChatDialogs";

export function ChatRowMenu({ chat }: { chat: Chat }) {
  const queries = useQueryClient();
  const [dialog, setDialog] = useState<"rename" | "visibility" | "remove" | null>(null);
  const me = useMe();
  const change = async (wish: { title?: string; pinned?: boolean; archived?: boolean }) => {
    if (await attempt(acts.changeChat(chat.id, wish))) await queries.invalidateQueries({ queryKey: CHATS });
  };
  return (
    <May needs="PATCH /context/{chat_id}">
      <Menu
        label={t.moreAbout(chat.title)}
        trigger={
          <button
            type="button"
            aria-label={t.moreAbout(chat.title)}
            className="absolute inset-y-0 right-1 my-auto inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-3 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 hover:bg-sunken hover:text-ink aria-expanded:opacity-100 thumb:static thumb:size-11 thumb:opacity-100"
          >
            <Ellipsis size={16} aria-hidden />
          </button>
        }
      >
        <MenuItem onSelect={() => setDialog("rename")}>
          <Pencil size={15} aria-hidden /> {t.rename}
        </MenuItem>
        <MenuItem onSelect={() => void change({ pinned: !chat.pinned })}>
          {chat.pinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />}{" "}
          {chat.pinned ? list.unpin : list.pin}
        </MenuItem>
        <MenuItem onSelect={() => void change({ archived: !chat.archived })}>
          {chat.archived ? <ArchiveRestore size={15} aria-hidden /> : <Archive size={15} aria-hidden />}{" "}
          {chat.archived ? list.unarchive : list.archive}
        </MenuItem>
        {mayShare(me, chat.owner) && (
          <MenuItem needs="PATCH /context/{chat_id}" onSelect={() => setDialog("visibility")}>
            <Eye size={15} aria-hidden /> {list.whoSeesIt}
          </MenuItem>
        )}
        <MenuLine />
        <MenuItem danger needs="DELETE /context/{chat_id}" onSelect={() => setDialog("remove")}>
          <Trash2 size={15} aria-hidden /> {t.deleteThisChat2}
        </MenuItem>
      </Menu>
      <RenameDialog
        open={dialog === "rename"}
        title={chat.title}
        onClose={() => setDialog(null)}
        onRename={(title) => change({ title })}
      />
      <VisibilityDialog
        open={dialog === "visibility"}
        visibility={chat.visibility ?? "everyone"}
        note={list.filesAreNotHidden}
        onChange={async (visibility) => {
          await acts.changeChat(chat.id, { visibility });
          await queries.invalidateQueries({ queryKey: CHATS });
        }}
        onClose={() => setDialog(null)}
      />
      <RemoveDialog open={dialog === "remove"} chatId={chat.id} onClose={() => setDialog(null)} />
    </May>
  );
}
