// Who wrote a message or decided something, where several people work on one server.
import { useMe } from "../state/me";
import { t } from "../texts/people";
import { loose, type Message, text } from "../wire/nouns";

/** The name to show; null if it was this person, or if nobody else is here. */
export function useAuthor(message: Message): string | null {
  const me = useMe();
  return authorOf(message, me);
}

/** Pure. */
export function authorOf(
  { payload }: Pick<Message, "payload">,
  me: { name: string; owner: boolean; shared: boolean },
): string | null {
  const author = text(loose(payload)["author"]);
  if (author) return author === me.name && !me.owner ? null : author;
  return me.shared && !me.owner ? t.theOwner : null;
}
