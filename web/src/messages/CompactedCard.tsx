import { FoldVertical, Undo2 } from "lucide-react";
import * as acts from "../state/acts";
import { useLive } from "../state/live";
import { t } from "../texts/composer";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { attempt } from "../ui/outcomes";
import { clock } from "../ui/times";
import { loose, type Message } from "../wire/nouns";

/** How many messages this one stands for; null if it is no compaction. */
export function readCompacted(message: Message): number | null {
  const compacted = loose(message.payload)["compacted"];
  const count = compacted && loose(compacted)["messages"];
  return typeof count === "number" ? count : null;
}

/** From here on the model goes on from a digest. All of it can be read, and taken back while the chat rests. */
export function CompactedCard({ message, count }: { message: Message; count: number }) {
  const chatId = useLive(({ view }) =>
    view?.state === "idle" && newest(view.messages)?.id === message.id ? view.id : null,
  );
  return (
    <div
      role="group"
      aria-label={t.compacted(count)}
      className="rounded-xl border border-line bg-sunken/50 px-4 py-3 text-sm"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <FoldVertical size={16} aria-hidden className="shrink-0 text-ink-3" />
        <div className="min-w-0 flex-1 basis-56">
          <p className="font-medium text-ink">{t.compacted(count)}</p>
          <p className="text-ink-2">
            {t.compactedAbout} <time className="text-xs text-ink-3 tabular-nums">{clock(message.created_at)}</time>
          </p>
        </div>
        {chatId && (
          <Button
            needs="DELETE /context/{chat_id}/compact"
            icon={<Undo2 size={14} aria-hidden />}
            onClick={() => void attempt(acts.undoCompaction(chatId))}
          >
            {t.undo}
          </Button>
        )}
      </div>
      <Fold className="mt-1" name={`compacted-${message.id}`} summary={t.toldInstead}>
        {() => (
          <pre tabIndex={0} className="max-h-96 overflow-auto font-mono text-xs whitespace-pre-wrap text-ink-2">
            {message.content}
          </pre>
        )}
      </Fold>
    </div>
  );
}

function newest(messages: readonly Message[]): Message | undefined {
  const last = messages.findLastIndex((message) => "compaction_undone" in loose(message.payload));
  const found = messages.findLastIndex((message) => readCompacted(message) !== null);
  return found > last ? messages[found] : undefined;
}
