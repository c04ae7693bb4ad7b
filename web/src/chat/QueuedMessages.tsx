// What was written while the agent works: shown above the composer until it is sent; it can be changed, removed or sent now.
import { CornerDownRight, Pencil, SendHorizontal, X } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/queue";
import { Button, IconButton } from "../ui/Button";
import type { Queued } from "../wire/nouns";

const CHANGE = "PATCH /context/{chat_id}/queue/{queued_id}";

interface Props {
  queue: readonly Queued[];
  /** The agent does not work: what is here still waits for the person. */
  idle: boolean;
  onChange: (id: string, content: string) => Promise<boolean>;
  onRemove: (id: string) => void;
  onSendNow: (id: string) => void;
}

export function QueuedMessages({ queue, idle, onChange, onRemove, onSendNow }: Props) {
  const [editing, setEditing] = useState<string | null>(null);
  if (queue.length === 0) return null;
  return (
    <section aria-label={t.queuedMessages} className="mb-2 rounded-xl border border-line bg-sunken/50 p-1.5">
      <p className="px-2 pb-1 text-xs text-ink-3">{idle ? t.held : t.sentWhenTheAgentHasFinished}</p>
      <ul className="max-h-40 space-y-0.5 overflow-y-auto">
        {queue.map((queued) => (
          <li key={queued.id} className="flex items-start gap-1 rounded-lg bg-surface px-2 py-1 text-sm">
            {editing === queued.id ? (
              <EditForm
                content={queued.content}
                onCancel={() => setEditing(null)}
                onSave={async (content) => (await onChange(queued.id, content)) && setEditing(null)}
              />
            ) : (
              <>
                <span className="min-w-0 flex-1 py-1.5">
                  <span dir="auto" className="line-clamp-3 break-words whitespace-pre-wrap">
                    {queued.content}
                  </span>
                  {queued.steer && !idle && (
                    <span className="mt-0.5 flex items-center gap-1 text-xs text-ink-3">
                      <CornerDownRight size={12} aria-hidden /> {t.steers}
                    </span>
                  )}
                </span>
                {(!queued.steer || idle) && (
                  <IconButton needs={CHANGE} label={t.sendNow} onClick={() => onSendNow(queued.id)}>
                    <SendHorizontal size={15} aria-hidden />
                  </IconButton>
                )}
                <IconButton needs={CHANGE} label={t.edit} onClick={() => setEditing(queued.id)}>
                  <Pencil size={15} aria-hidden />
                </IconButton>
                <IconButton
                  needs="DELETE /context/{chat_id}/queue/{queued_id}"
                  label={t.remove}
                  onClick={() => onRemove(queued.id)}
                >
                  <X size={15} aria-hidden />
                </IconButton>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function EditForm(props: { content: string; onSave: (content: string) => Promise<unknown>; onCancel: () => void }) {
  const [words, setWords] = useState(props.content);
  return (
    <form
      className="flex min-w-0 flex-1 items-end gap-1.5 py-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim()) void props.onSave(words);
      }}
    >
      <textarea
        autoFocus
        rows={2}
        dir="auto"
        value={words}
        aria-label={t.queuedMessage}
        onChange={({ target }) => setWords(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          props.onCancel();
        }}
        className="min-w-0 flex-1 rounded-lg border border-line-strong/70 bg-paper px-2 py-1"
      />
      <Button type="submit" look="primary" disabled={!words.trim()}>
        {t.save}
      </Button>
      <Button look="quiet" onClick={props.onCancel}>
        {t.cancel}
      </Button>
    </form>
  );
}
