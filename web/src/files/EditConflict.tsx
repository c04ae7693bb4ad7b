// A file that somebody changed while a person edited it: both versions side by side, and the person says which one stays.

import { visible } from "../content/visible";
import { t } from "../texts/files";
import { Button } from "../ui/Button";
import { Copy } from "../ui/Copy";

interface Props {
  mine: string;
  theirs: string;
  onMine: () => void;
  onTheirs: () => void;
  onBack: () => void;
}

export function EditConflict({ mine, theirs, onMine, onTheirs, onBack }: Props) {
  return (
    <div role="alert" className="flex min-h-0 flex-1 flex-col gap-2 p-3">
      <p className="text-sm text-warn">{t.conflict}</p>
      <div className="grid min-h-0 flex-1 grid-cols-1 gap-2 sm:grid-cols-2">
        <Side title={t.yourVersion} text={mine} />
        <Side title={t.fileAsItIs} text={theirs} />
      </div>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" onClick={onMine}>
          {t.keepMine}
        </Button>
        <Button onClick={onTheirs}>{t.keepTheirs}</Button>
        <Button look="quiet" onClick={onBack}>
          {t.editOn}
        </Button>
      </div>
    </div>
  );
}

function Side({ title, text }: { title: string; text: string }) {
  return (
    <section aria-label={title} className="flex min-h-24 min-w-0 flex-col rounded-lg border border-line">
      <h3 className="flex items-center justify-between border-b border-line pl-3 text-xs font-medium">
        {title} <Copy text={text} className="!size-8 thumb:!size-11" />
      </h3>
      <pre tabIndex={0} aria-label={title} className="min-h-0 flex-1 overflow-auto p-2 font-mono text-xs leading-5">
        {visible(text)}
      </pre>
    </section>
  );
}
