import clsx from "clsx";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import type { Operation } from "../wire/scopes";
import { May } from "./May";

type Look = "plain" | "primary" | "quiet" | "danger";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: ReactNode;
  hotkey?: string;
  /** What it asks the server to do: who may not do that does not see it. */
  needs?: Operation | undefined;
  ref?: Ref<HTMLButtonElement>;
}

const LOOKS: Record<Look, string> = {
  plain: "border border-line-strong/70 bg-surface text-ink hover:bg-sunken",
  primary: "bg-ink text-paper hover:opacity-90",
  quiet: "text-ink-2 hover:bg-sunken hover:text-ink",
  danger: "border border-line-strong/70 bg-surface text-bad hover:bg-bad-soft",
};

export function Button({ look = "plain", icon, hotkey, needs, className, children, type = "button", ...rest }: Props) {
  return (
    <May needs={needs}>
      <button
        type={type}
        className={clsx(
          "inline-flex min-h-9 thumb:min-h-11 items-center justify-center gap-1.5 rounded-lg px-3 py-1.5 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-45",
          LOOKS[look],
          className,
        )}
        {...rest}
      >
        {icon}
        {children}
        {hotkey && <Key>{hotkey}</Key>}
      </button>
    </May>
  );
}

/** A button that is only its sign; `label` is what is read out and shown as a tip. */
export function IconButton({ label, needs, children, className, ...rest }: Props & { label: string }) {
  return (
    <May needs={needs}>
      <button
        type="button"
        aria-label={label}
        title={label}
        className={clsx(
          "inline-flex size-9 thumb:size-11 shrink-0 items-center justify-center rounded-lg text-ink-2 transition-colors hover:bg-sunken hover:text-ink disabled:opacity-40",
          className,
        )}
        {...rest}
      >
        {children}
      </button>
    </May>
  );
}

function Key({ children }: { children: ReactNode }) {
  return (
    <kbd
      aria-hidden
      className="ml-1 hidden rounded border border-current/25 px-1 font-mono text-[11px] leading-4 font-normal opacity-75 sm:inline"
    >
      {children}
    </kbd>
  );
}
