// Plain words: a person's at the right, an agent's as Markdown. Also the home of every message type that this page does not know.

import { useMemo } from "react";
import { mentionsIn } from "../composer/inputSyntax";
import { Markdown } from "../content/Markdown";
import { useAuthor } from "../state/author";
import type { Saying } from "../state/rows";
import { t } from "../texts/messages";
import { type Message, readAttachedFiles, readPictures } from "../wire/nouns";
import { AttachedFiles } from "./AttachedFiles";
import { MessageTools } from "./MessageTools";
import { Pictures } from "./Pictures";
import { Says } from "./Says";
import { Thinking } from "./Thinking";
import { planInAnswer, UnusablePlan } from "./UnusablePlan";

interface Props {
  message: Message;
  thought: number | null;
  /** What is still being said stands in the same place, so that nothing is drawn twice. */
  saying?: Saying | undefined;
}

export function TextCard({ message, thought, saying }: Props) {
  const plan = useMemo(() => (saying ? null : planInAnswer(message.content)), [saying, message.content]);
  if (message.role === "user") return <OwnWords message={message} />;
  return (
    <Says
      role={message.agent_role}
      at={message.created_at}
      aside={saying ? null : <MessageTools id={message.id} text={message.content} />}
    >
      {message.reasoning && (
        <Thinking of={message.id} text={message.reasoning} took={thought} running={saying === "thinking"} />
      )}
      {plan ? (
        <UnusablePlan plan={plan} answer={message.content} name={message.id} />
      ) : (
        <Markdown text={message.content} />
      )}
    </Says>
  );
}

function OwnWords({ message }: { message: Message }) {
  const { id, content: text, payload } = message;
  const author = useAuthor(message);
  return (
    <article aria-label={author ?? t.you} className="group/says flex items-end justify-end gap-1 pl-2 sm:pl-10">
      <span className="shrink-0 opacity-0 transition-opacity group-focus-within/says:opacity-100 group-hover/says:opacity-100">
        <MessageTools id={id} text={text} own />
      </span>
      <div className="flex min-w-0 flex-col items-end gap-1.5">
        {author && (
          <span dir="auto" className="text-xs text-ink-3">
            {author}
          </span>
        )}
        <Pictures messageId={id} pictures={readPictures(payload)} />
        <p
          dir="auto"
          className="min-w-0 max-w-full rounded-2xl rounded-br-md border border-line bg-sunken px-4 py-2.5 break-words whitespace-pre-wrap"
        >
          {mentionsIn(text).map((piece, at) =>
            piece.mention ? (
              <code key={at} className="rounded bg-surface px-1 py-0.5 font-mono text-[0.9em] text-role break-all">
                {piece.text}
              </code>
            ) : (
              piece.text
            ),
          )}
        </p>
        <AttachedFiles messageId={id} files={readAttachedFiles(payload)} />
      </div>
    </article>
  );
}
