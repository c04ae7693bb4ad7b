import { Info } from "lucide-react";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import type { Message, ToolResult } from "../wire/nouns";
import { ToolResultCard } from "./ToolResultCard";

const NAMES: Readonly<Record<string, string>> = { reply: t.aReplyCouldNotBe, tasks: t.whatTheTasksCameTo };

/** A result without its call: mostly the server telling the model what was wrong with its reply. */
export function LooseResultCard({ message, result }: { message: Message; result: ToolResult }) {
  return (
    <Fold
      name={`result ${message.id}`}
      summary={
        <span className="inline-flex min-w-0 items-center gap-2">
          <Info size={14} aria-hidden className="shrink-0 text-ink-3" />
          <span className="truncate">{NAMES[result.tool] ?? t.resultOf(result.tool)}</span>
        </span>
      }
    >
      {() => <ToolResultCard result={result} output={message.content} messageId={message.id} />}
    </Fold>
  );
}
