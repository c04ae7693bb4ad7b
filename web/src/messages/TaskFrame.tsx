import type { ReactNode } from "react";
import { Inline } from "../content/Inline";
import { Markdown } from "../content/Markdown";
import { RoleBadge } from "../roles/RoleBadge";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";

interface Props {
  icon: ReactNode;
  words: string;
  message: Message;
  /** What stands for the content in the one line; else its first line does. */
  summary?: string;
  /** What is read when it is unfolded; else the content. */
  children?: ReactNode;
}

/** What the three messages of a task have in common: one line, with its words inside. */
export function TaskFrame({ icon, words, message, summary = "", children }: Props) {
  return (
    <Fold
      name={`task ${message.id}`}
      className="-ml-1.5"
      summary={
        <span className="flex min-w-0 flex-1 items-center gap-2">
          <span className="text-ink-3">{icon}</span>
          <span className="shrink-0 font-medium">
            {words}
            {message.task_id ? ` ${message.task_id}` : ""}
          </span>
          <span className="min-w-0 flex-1 truncate text-ink-3">
            <Inline text={summary || firstLine(message)} />
          </span>
          {message.agent_role && <RoleBadge role={message.agent_role} />}
        </span>
      }
    >
      {() => children ?? <Markdown text={message.content} />}
    </Fold>
  );
}

/** Without the task's name, which stands before it already. */
function firstLine({ content, task_id }: Message): string {
  const [line = ""] = content.split("\n", 1);
  return task_id && line.startsWith(`Task ${task_id}: `) ? line.slice(`Task ${task_id}: `.length) : line;
}
