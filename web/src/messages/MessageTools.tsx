import clsx from "clsx";
import { GitFork, Link, Pencil, RefreshCw } from "lucide-react";
import { askToFork } from "../fork/opening";
import { useLive } from "../state/live";
import { t as forkTexts } from "../texts/fork";
import { t } from "../texts/messages";
import { IconButton } from "../ui/Button";
import { Copy } from "../ui/Copy";

const FORK = "POST /context/{chat_id}/fork";

/** What can be done with a message: take its words or its address, or go on from it in a new chat. */
export function MessageTools({ id, text, own = false }: { id: string; text: string; own?: boolean }) {
  return (
    <span className={clsx("inline-flex justify-end", own && "flex-wrap max-sm:w-16")}>
      {own ? (
        <IconButton
          needs={FORK}
          label={forkTexts.editAndResend}
          className="!size-8"
          onClick={() => askToFork({ kind: "edit", messageId: id, content: text })}
        >
          <Pencil size={15} aria-hidden />
        </IconButton>
      ) : (
        <IconButton needs={FORK} label={forkTexts.regenerate} className="!size-8" onClick={() => regenerate(id)}>
          <RefreshCw size={15} aria-hidden />
        </IconButton>
      )}
      <IconButton
        needs={FORK}
        label={forkTexts.forkFromHere}
        className="!size-8"
        onClick={() => askToFork({ kind: "fork", messageId: id, content: "" })}
      >
        <GitFork size={15} aria-hidden />
      </IconButton>
      <Copy text={() => addressOf(id)} label={t.copyLink} icon={<Link size={15} aria-hidden />} className="!size-8" />
      <Copy text={text} label={t.copyMessage} className="!size-8" />
    </span>
  );
}

/** The request that led to this message is sent again. */
function regenerate(messageId: string): void {
  const messages = useLive.getState().view?.messages ?? [];
  const at = messages.findIndex(({ id }) => id === messageId);
  const asked = messages.slice(0, Math.max(at, 0)).findLast(({ role }) => role === "user");
  if (asked) askToFork({ kind: "regenerate", messageId: asked.id, content: asked.content });
}

/** The page's own address, with the message after its chat. */
function addressOf(messageId: string): string {
  const [, place = "", chat = ""] = location.hash.split("/");
  return `${location.origin}${location.pathname}#/${place}/${chat}/${messageId}`;
}
