// The way to the list of chats. Where the list is hidden, it says that chats in it wait.

import { PanelLeft } from "lucide-react";
import { createContext, useContext } from "react";
import { useLive } from "../state/live";
import { useWording } from "../state/me";
import { useChats } from "../state/sidebar";
import { t } from "../texts/chat";
import { t as people } from "../texts/people";
import { IconButton } from "../ui/Button";

export const SidebarHidden = createContext(false);

export function SidebarButton({ onClick }: { onClick: () => void }) {
  const hidden = useContext(SidebarHidden);
  const here = useLive(({ chatId }) => chatId);
  const waiting = useChats("").waiting.filter(({ id }) => id !== here).length;
  const label = t.showOrHideTheChats;
  const wording = useWording();
  if (!hidden || waiting === 0) {
    return (
      <IconButton label={label} onClick={onClick}>
        <PanelLeft size={18} aria-hidden />
      </IconButton>
    );
  }
  const more =
    waiting === 1
      ? wording(t.text1OtherWaitsForYou, people.readers.oneOtherWaits)
      : wording(t.othersWaitForYou, people.readers.othersWait)(waiting);
  return (
    <IconButton label={`${label}: ${more}`} onClick={onClick} className="relative">
      <PanelLeft size={18} aria-hidden />
      <span
        aria-hidden
        className="absolute top-0 right-0 min-w-4.5 rounded-full bg-warn px-1 text-center text-[11px] leading-4.5 font-semibold text-paper tabular-nums"
      >
        {waiting}
      </span>
    </IconButton>
  );
}
