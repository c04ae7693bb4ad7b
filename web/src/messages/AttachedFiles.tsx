// Text files that came with a message: folded, and shown as the model got them, hidden characters written out.

import { FileText } from "lucide-react";
import { Output } from "../content/Output";
import { visible } from "../content/visible";
import { t } from "../texts/composer";
import { bytesText } from "../texts/language";
import { Fold } from "../ui/Fold";

interface Props {
  messageId: string;
  files: readonly { name: string; content: string }[];
}

export function AttachedFiles({ messageId, files }: Props) {
  if (files.length === 0) return null;
  return (
    <ul aria-label={t.attachedFiles} className="flex w-full min-w-0 flex-col gap-1">
      {files.map(({ name, content }, at) => (
        <li key={at} className="min-w-0 rounded-xl border border-line bg-surface px-1.5 py-0.5">
          <Fold
            name={`attached ${messageId} ${at}`}
            summary={
              <span className="inline-flex min-w-0 items-center gap-1.5">
                <FileText size={14} aria-hidden className="shrink-0" />
                <span className="truncate">{visible(name)}</span>{" "}
                <span className="shrink-0 text-ink-2">{bytesText(new TextEncoder().encode(content).length)}</span>
              </span>
            }
          >
            {() => <Output text={visible(content.replaceAll("\r\n", "\n"))} label={t.attachedFile(visible(name))} />}
          </Fold>
        </li>
      ))}
    </ul>
  );
}
