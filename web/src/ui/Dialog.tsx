// The browser's own modal dialog: it keeps the focus, closes on Escape and gives the focus back.

import clsx from "clsx";
import { X } from "lucide-react";
import { type ReactNode, type SyntheticEvent, useId, useLayoutEffect, useRef } from "react";
import { createPortal } from "react-dom";
import { t } from "../texts/ui";
import { IconButton } from "./Button";
import { Outcomes } from "./Outcomes";
import { Toaster } from "./Toaster";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** As large as there is room for. */
  page?: boolean;
  bare?: boolean;
}

const FIRST_FIELD = "form :is(input:not([type=checkbox], [type=radio], [type=file], [type=hidden]), select, textarea)";

export function Dialog({ open, ...rest }: Props) {
  return open ? <OpenDialog {...rest} /> : null;
}

function OpenDialog({ title, onClose, children, wide = false, page = false, bare = false }: Omit<Props, "open">) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const left = useRef(false);
  useLayoutEffect(() => {
    const dialog = ref.current;
    left.current = false;
    dialog?.showModal();
    // The browser would begin at the button that closes it.
    if (!dialog?.querySelector("[autofocus]")) dialog?.querySelector<HTMLElement>(FIRST_FIELD)?.focus();
    return () => {
      left.current = true; // what the browser says of it later is not about one that was opened meanwhile
      dialog?.close(); // one that is only taken away gives no focus back
    };
  }, []);
  // At once: the browser would hide it and give the focus back before it tells, and an Enter in between would be lost.
  const onCancel = (event: SyntheticEvent) => {
    if (event.target !== event.currentTarget) return; // of a file field in it
    event.preventDefault();
    onClose();
  };
  // At the end of the page: a form in it must not stand inside another form, nor what it sends reach that one.
  return createPortal(
    <dialog
      ref={ref}
      onSubmit={(event) => event.stopPropagation()}
      aria-labelledby={titleId}
      onCancel={onCancel}
      onClose={() => left.current || onClose()}
      onClick={(event) => event.target === event.currentTarget && onClose()}
      className={clsx(
        "m-auto w-[calc(100vw-2rem)] overflow-hidden rounded-2xl border border-line bg-surface p-0 text-ink shadow-2xl",
        page
          ? "h-[calc(100dvh-2rem)] max-h-none max-w-7xl"
          : ["mt-[12vh] max-h-[76vh]", wide ? "max-w-2xl" : "max-w-md"],
      )}
    >
      <div className={clsx("flex flex-col", page ? "h-full" : "max-h-[76vh]")}>
        <header className={clsx("flex items-center justify-between gap-4 px-5 pt-4", bare && "sr-only")}>
          <h2 id={titleId} className="text-base font-semibold">
            {title}
          </h2>
          <IconButton label={t.close} onClick={onClose} className="-mr-2">
            <X size={17} aria-hidden />
          </IconButton>
        </header>
        <div
          className={clsx("min-h-0", page ? "flex flex-1 flex-col" : "overflow-y-auto", bare ? "" : "px-5 pt-2 pb-5")}
        >
          {children}
        </div>
        <Outcomes className="px-3 pb-3" />
      </div>
      <Toaster />
    </dialog>,
    document.body,
  );
}

/** The ref of what has the focus when its dialog opens: React's `autoFocus` comes before that, and leaves nothing that a dialog looks for. */
export function wantsFocus(node: HTMLElement | null): void {
  node?.setAttribute("autofocus", "");
}
