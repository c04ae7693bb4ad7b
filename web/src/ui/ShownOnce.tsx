import type { ReactNode } from "react";
import { Button } from "./Button";
import { Copy } from "./Copy";

interface Props {
  secret: string;
  label: string;
  copyLabel: string;
  doneLabel: string;
  onDone: () => void;
  children: ReactNode;
}

/** The one moment in which a key or a token can be read. */
export function ShownOnce({ secret, label, copyLabel, doneLabel, onDone, children }: Props) {
  return (
    <div role="status" className="rounded-2xl border border-good/40 bg-good-soft/60 p-4 text-sm">
      <p className="mb-2">{children}</p>
      <div className="flex items-center gap-1 rounded-lg border border-line-strong bg-paper pl-3">
        <code aria-label={label} className="min-w-0 flex-1 py-2 font-mono text-[13px] break-all">
          {secret}
        </code>
        <Copy text={secret} label={copyLabel} />
      </div>
      <div className="mt-3 flex justify-end">
        <Button onClick={onDone}>{doneLabel}</Button>
      </div>
    </div>
  );
}
