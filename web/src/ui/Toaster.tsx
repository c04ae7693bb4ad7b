import clsx from "clsx";
import { CircleAlert, Info, X } from "lucide-react";
import { useEffect, useId } from "react";
import { t } from "../texts/ui";
import { Button, IconButton } from "./Button";
import { dismiss, offerPlace, type Toast, useToasts } from "./toasts";

const NONE: readonly Toast[] = [];

/** Above, where nobody writes or decides: the composer and Stop stay free, and below where the page says that the server is away. An open dialog has its own, and that one shows them.
 * `beside`: over the chat alone, so that a pane beside it is not covered. `below`: in a row of its own at the end of a page that is all
 * buttons, so that none of them is covered or moves. */
export function Toaster({ at = "page" }: { at?: "page" | "beside" | "below" }) {
  const place = useId();
  useEffect(() => offerPlace(place), [place]);
  const toasts = useToasts(({ toasts: all, places }) => (places.at(-1) === place ? all : NONE));
  return (
    <div
      role="status"
      className={clsx(
        "flex flex-col items-center gap-2",
        at === "below"
          ? "shrink-0 border-line px-2 not-empty:border-t not-empty:py-2"
          : "pointer-events-none inset-x-0 top-32 z-50 px-4 sm:top-24",
        at === "page" && "fixed",
        at === "beside" && "absolute",
      )}
    >
      {toasts.map(({ id, words, kind, action }) => (
        <div
          key={id}
          className={clsx(
            "rise pointer-events-auto flex max-w-lg items-start gap-2.5 rounded-xl border bg-surface py-2 pr-1.5 pl-3.5 text-sm shadow-lg",
            kind === "problem" ? "border-bad/40" : "border-line",
          )}
        >
          <span className="mt-2">
            {kind === "problem" ? (
              <CircleAlert size={16} className="text-bad" aria-hidden />
            ) : (
              <Info size={16} aria-hidden />
            )}
          </span>
          <p className="min-w-0 py-1.5 break-words">{words}</p>
          {action && (
            <Button
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton label={t.dismiss} onClick={() => dismiss(id)}>
            <X size={15} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
