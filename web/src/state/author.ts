// Who wrote a message or decided something, where several people work on one server.
import { t } from "../texts/people";
import { loose, type Message, type ToolResult, text } from "../wire/nouns";
import { useMe } from "./me";

/** The name to show; null if it was this person, or if nobody else is here. */
export function useAuthor(message: Pick<Message, "payload">): string | null {
  const me = useMe();
  return authorOf(message, me);
}

/** Who allowed or denied this very call, by the same rule; null too where nobody was asked. */
export function useDecider(result: Pick<ToolResult, "status" | "facts"> | null): string | null {
  const me = useMe();
  if (!result || !(result.status === "denied" || text(result.facts["allowed_by"]).startsWith("approval:"))) return null;
  return authorOf({ payload: { author: text(result.facts["decided_by"]) } }, me);
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
