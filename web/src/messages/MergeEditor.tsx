// A file that two changed: both versions in one text, which a person brings into the form that shall stay.
import { useId, useState } from "react";
import { t } from "../texts/messages";
import { Button } from "../ui/Button";
import { VERBATIM } from "../ui/Field";

interface Props {
  path: string;
  draft: string;
  sending: boolean;
  onMerge: (content: string) => void;
  onBack: () => void;
}

const MARK = /^(<<<<<<< the task|>>>>>>> there now)$/m;

export function MergeEditor({ path, draft, sending, onMerge, onBack }: Props) {
  const [content, setContent] = useState(draft);
  const hint = useId();
  const hasMarks = MARK.test(content);
  return (
    <div className="mt-4">
      <textarea
        aria-label={t.mergedFile(path)}
        aria-describedby={hint}
        dir="auto"
        {...VERBATIM}
        rows={Math.min(24, Math.max(8, content.split("\n").length))}
        value={content}
        onChange={(event) => setContent(event.target.value)}
        className="w-full rounded-xl border border-line-strong/70 bg-paper p-3 font-mono text-xs"
      />
      <p id={hint} className="mt-1 text-sm text-ink-2">
        {hasMarks ? t.mergeMarksLeft : t.mergeReady}
      </p>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button look="primary" disabled={hasMarks || sending} onClick={() => onMerge(content)}>
          {t.keepMerged}
        </Button>
        <Button disabled={sending} onClick={onBack}>
          {t.otherAnswers}
        </Button>
      </div>
    </div>
  );
}
