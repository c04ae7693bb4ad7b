// Text files that stand ready to be sent, each to be taken away again; and the button that chooses files.

import { FileText, Paperclip, X } from "lucide-react";
import { useRef } from "react";
import { t } from "../texts/composer";
import { bytesText } from "../texts/language";
import type { AttachedText } from "./attachedText";

interface Props {
  texts: readonly AttachedText[];
  onRemove: (key: string) => void;
}

export function AttachedTexts({ texts, onRemove }: Props) {
  if (texts.length === 0) return null;
  return (
    <ul aria-label={t.filesToSend} className="flex flex-wrap gap-2 px-1 pb-2">
      {texts.map(({ key, name, size }) => (
        <li
          key={key}
          className="inline-flex max-w-full min-w-0 items-center gap-1.5 rounded-lg border border-line bg-sunken py-0.5 pr-0.5 pl-2 text-sm"
        >
          <FileText size={14} aria-hidden className="shrink-0 text-ink-3" />
          <span className="truncate">{name}</span>
          <span className="shrink-0 text-ink-2">{bytesText(size)}</span>
          <button
            type="button"
            aria-label={t.removeFile(name)}
            onClick={() => onRemove(key)}
            className="inline-flex size-6 thumb:size-11 shrink-0 items-center justify-center rounded-md text-ink-2 hover:text-bad"
          >
            <X size={13} aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Any file can be chosen: no list of endings names all text. Of one that is not taken it is said why. */
export function ChooseFiles({ onChoose }: { onChoose: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-testid="files"
        onChange={({ target }) => {
          onChoose([...(target.files ?? [])]);
          target.value = "";
        }}
      />
      <button
        type="button"
        aria-label={t.attachFiles}
        title={t.attachFilesAbout}
        onClick={() => input.current?.click()}
        className="inline-flex size-10 thumb:size-11 shrink-0 items-center justify-center rounded-xl text-ink-2 hover:bg-sunken hover:text-ink"
      >
        <Paperclip size={18} aria-hidden />
      </button>
    </>
  );
}
