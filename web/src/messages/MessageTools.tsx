import { Link } from "lucide-react";
import { t } from "../texts/messages";
import { Copy } from "../ui/Copy";

/** What can be done with a message: take its words, or its address. */
export function MessageTools({ id, text }: { id: string; text: string }) {
  return (
    <span className="inline-flex">
      <Copy text={() => addressOf(id)} label={t.copyLink} icon={<Link size={15} aria-hidden />} className="!size-8" />
      <Copy text={text} label={t.copyMessage} className="!size-8" />
    </span>
  );
}

/** The page's own address, with the message after its chat. */
function addressOf(messageId: string): string {
  const [, place = "", chat = ""] = location.hash.split("/");
  return `${location.origin}${location.pathname}#/${place}/${chat}/${messageId}`;
}
