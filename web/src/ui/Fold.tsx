// Something that is there when wanted. Opens by button; what is folded is not rendered at all.
import clsx from "clsx";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";

interface Props {
  summary: ReactNode;
  children: () => ReactNode;
  initiallyOpen?: boolean;
  className?: string;
  disabled?: boolean;
}

export function Fold({ summary, children, initiallyOpen = false, className, disabled = false }: Props) {
  const [open, setOpen] = useState(initiallyOpen);
  const id = useId();
  return (
    <div className={className}>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        disabled={disabled}
        onClick={() => setOpen(!open)}
        className="group flex min-h-8 w-full min-w-0 items-center gap-1.5 rounded-lg px-1.5 py-1 text-left text-sm text-ink-2 hover:bg-sunken hover:text-ink disabled:cursor-default disabled:hover:bg-transparent"
      >
        <ChevronRight size={14} aria-hidden className={clsx("shrink-0 text-ink-3 transition-transform", open && "rotate-90", disabled && "opacity-0")} />
        {summary}
      </button>
      {open && (
        <div id={id} className="mt-1 mb-1 ml-[1.05rem] border-l border-line pl-3.5">
          {children()}
        </div>
      )}
    </div>
  );
}
