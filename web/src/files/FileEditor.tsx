// Small changes to one file. What is saved is the person's own change; if somebody else was quicker, both sides are shown.

import { Save, X } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { t } from "../texts/files";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/outcomes";
import { Refusal } from "../wire/client";
import { readFile, type ShownFile, saveFile, useReadAgain } from "./acts";
import { draftOf, keepFileDraft } from "./drafts";
import { EditConflict } from "./EditConflict";
import { type Mounted, mountEditor } from "./mountEditor";

interface Props {
  chatId: string;
  file: ShownFile;
  line: number | null;
  onDone: () => void;
}

export default function FileEditor({ chatId, file, line, onDone }: Props) {
  const [base] = useState(() => draftOf(chatId, file.path)?.sha256 ?? file.sha256);
  const [saving, setSaving] = useState(false);
  const [changed, setChanged] = useState(() => draftOf(chatId, file.path) !== null);
  const [other, setOther] = useState<ShownFile | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Mounted | null>(null);
  const readAgain = useReadAgain();
  const save = useCallback(
    async (expected: string | null) => {
      const text = editor.current?.text() ?? "";
      setSaving(true);
      try {
        await saveFile(chatId, file.path, text, expected);
        keepFileDraft(chatId, file.path, null);
        say(t.saved(file.shown));
        readAgain();
        onDone();
      } catch (error) {
        if (error instanceof Refusal && error.code === "content_changed")
          await attempt(readFile(chatId, file.path, true).then(setOther));
        else await attempt(Promise.reject(error));
      } finally {
        setSaving(false);
      }
    },
    [chatId, file.path, file.shown, onDone, readAgain],
  );
  const saveNow = useRef(save);
  saveNow.current = save;
  useEffect(() => {
    const start = draftOf(chatId, file.path)?.text ?? file.text ?? "";
    editor.current = mountEditor(place.current!, {
      text: start,
      path: file.path,
      label: t.editorOf(file.shown),
      line,
      onChange: (text) => {
        setChanged(true);
        keepFileDraft(chatId, file.path, { text, sha256: base });
      },
      onSave: () => void saveNow.current(base),
    });
    return () => editor.current?.destroy();
  }, [chatId, file.path]);
  const discard = () => {
    keepFileDraft(chatId, file.path, null);
    onDone();
  };
  return (
    <section aria-label={t.editorOf(file.shown)} className="flex min-h-0 flex-1 flex-col">
      <div className="flex items-center gap-1.5 border-b border-line px-3 py-1.5 text-xs text-ink-3">
        <span className="min-w-0 truncate">{changed ? t.notSavedYet : t.savedAsYours}</span>
        <span className="ml-auto flex gap-1.5">
          <Button
            look="quiet"
            className="!min-h-8 thumb:!min-h-11 !py-0.5"
            icon={<X size={14} aria-hidden />}
            onClick={discard}
          >
            {changed ? t.discard : t.cancel}
          </Button>
          <Button
            needs="PUT /context/{chat_id}/file"
            look="primary"
            className="!min-h-8 thumb:!min-h-11 !py-0.5"
            icon={<Save size={14} aria-hidden />}
            disabled={saving || !changed}
            onClick={() => void save(base)}
          >
            {t.save}
          </Button>
        </span>
      </div>
      {other && (
        <EditConflict
          mine={editor.current?.text() ?? ""}
          theirs={other.text ?? ""}
          onMine={() => void save(other.sha256)}
          onTheirs={discard}
          onBack={() => setOther(null)}
        />
      )}
      <div ref={place} className={other ? "hidden" : "min-h-0 flex-1"} />
    </section>
  );
}
