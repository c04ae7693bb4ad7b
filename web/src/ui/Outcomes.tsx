import clsx from "clsx";
import { CircleAlert, Info, X } from "lucide-react";
import { useId, useLayoutEffect, useRef } from "react";
import { t } from "../texts/ui";
import { Button, IconButton } from "./Button";
import { clear, type Outcome, offerOutcomes, useOutcomes } from "./outcomes";

interface Props {
  className?: string;
  /** Says what belongs to no part of the page, too. */
  page?: boolean;
}

/** Says what came of the acts of the element around it, in a row of its own. */
export function Outcomes({ className, page = false }: Props) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => offerOutcomes(id, ref.current!, page), [id, page]);
  const outcome = useOutcomes((all) => all[id]);
  useLayoutEffect(() => {
    if (outcome) ref.current?.scrollIntoView?.({ block: "nearest" });
  }, [outcome]);
  return (
    <div ref={ref} role="status" className={outcome ? className : "absolute" /* so no row or gap is made for it */}>
      {outcome && <OutcomeLine key={outcome.id} outcome={outcome} onDismiss={() => clear(id)} />}
    </div>
  );
}

function OutcomeLine({ outcome: { words, kind, action }, onDismiss }: { outcome: Outcome; onDismiss: () => void }) {
  const Icon = kind === "problem" ? CircleAlert : Info;
  return (
    <div
      className={clsx(
        "rise flex items-start gap-2 rounded-xl border bg-surface py-1 pr-1 pl-3 text-sm",
        kind === "problem" ? "border-bad/40" : "border-line",
      )}
    >
      <Icon size={16} aria-hidden className={clsx("mt-2 shrink-0", kind === "problem" ? "text-bad" : "text-ink-3")} />
      <p className="min-w-0 flex-1 self-center py-1 break-words">{words}</p>
      {action && (
        <Button
          onClick={() => {
            onDismiss();
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton label={t.dismiss} onClick={onDismiss}>
        <X size={15} aria-hidden />
      </IconButton>
    </div>
  );
}
