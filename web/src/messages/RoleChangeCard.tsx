import { ArrowRight } from "lucide-react";
import { RoleBadge } from "../roles/RoleBadge";
import { useAuthor } from "../state/author";
import { clock } from "../ui/times";
import { loose, type Message, text } from "../wire/nouns";

export function RoleChangeCard({ message }: { message: Message }) {
  const { old_role, new_role } = loose(message.payload);
  const author = useAuthor(message);
  if (!text(new_role)) return <p className="text-center text-sm text-ink-3">{message.content}</p>;
  return (
    <div role="note" aria-label={message.content} className="flex items-center gap-3 text-xs text-ink-3">
      <span aria-hidden className="h-px flex-1 bg-line" />
      <span className="flex items-center gap-2">
        <RoleBadge role={text(old_role)} />
        <ArrowRight size={13} aria-hidden />
        <RoleBadge role={text(new_role)} />
        {author && <span dir="auto">{author}</span>}
        <time className="tabular-nums">{clock(message.created_at)}</time>
      </span>
      <span aria-hidden className="h-px flex-1 bg-line" />
    </div>
  );
}
