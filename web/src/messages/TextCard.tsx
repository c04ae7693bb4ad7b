// Plain words: a person's at the right, an agent's as Markdown. Also the home of every message type that this page does not know.
import type { Message } from "../wire/nouns";
import { Copy } from "../ui/Copy";
import { Markdown } from "./Markdown";
import { Says } from "./Says";
import { Thinking } from "./Thinking";

interface Props {
  message: Message;
  thought: number | null;
}

export function TextCard({ message, thought }: Props) {
  if (message.role === "user") return <OwnWords text={message.content} />;
  return (
    <Says role={message.agent_role} at={message.created_at} aside={<Copy text={message.content} label="Copy message" />}>
      {message.reasoning && <Thinking text={message.reasoning} took={thought} />}
      <Markdown text={message.content} />
    </Says>
  );
}

function OwnWords({ text }: { text: string }) {
  return (
    <article aria-label="You" className="flex justify-end pl-10">
      <p className="max-w-full rounded-2xl rounded-br-md border border-line bg-sunken px-4 py-2.5 break-words whitespace-pre-wrap">{text}</p>
    </article>
  );
}
