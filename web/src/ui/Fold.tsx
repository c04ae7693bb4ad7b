// Something that is there when wanted. Opens by button; what is folded is not rendered at all.
import clsx from "clsx";
import { ChevronRight } from "lucide-react";
import { createContext, type ReactNode, useContext, useId, useState } from "react";

interface Props {
  summary: ReactNode;
  children: () => ReactNode;
  initiallyOpen?: boolean;
  className?: string;
  disabled?: boolean;
  /** What it is remembered by where folds are: one that leaves the page and comes back stands as it was left. */
  name?: string;
  /** Stands beside the button: something else to press. */
  beside?: ReactNode;
}

/** How the folds of a place were left, by name. */
export const Folds = createContext<Map<string, boolean> | null>(null);

export function Fold({ summary, children, initiallyOpen = false, className, disabled = false, name, beside }: Props) {
  const left = useContext(Folds);
  const [open, setOpen] = useState(() => (name === undefined ? undefined : left?.get(name)) ?? initiallyOpen);
  const id = useId();
  const turn = () => {
    if (name) left?.set(name, !open);
    setOpen(!open);
  };
  return (
    <div className={className}>
      <div className={clsx(beside && "flex min-w-0 items-center")}>
        <button
          type="button"
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          disabled={disabled}
          onClick={turn}
          className="group flex min-h-8 thumb:min-h-10 w-full min-w-0 items-center gap-1.5 rounded-lg px-1.5 py-1 text-left text-sm text-ink-2 hover:bg-sunken hover:text-ink disabled:cursor-default disabled:hover:bg-transparent"
        >
          <ChevronRight
            size={14}
            aria-hidden
            className={clsx("shrink-0 text-ink-3 transition-transform", open && "rotate-90", disabled && "opacity-0")}
          />
          {summary}
        </button>
        {beside}
      </div>
      {open && (
        <div id={id} className="mt-1 mb-1 ml-[1.05rem] border-l border-line pl-3.5">
          {children()}
        </div>
      )}
    </div>
  );
}
