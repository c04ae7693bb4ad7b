// Menus that open under their button. Not modal: the page behind stays as it is.
import clsx from "clsx";
import { DropdownMenu } from "radix-ui";
import { createContext, type ReactNode, type RefObject, use, useRef, useState } from "react";
import type { Operation } from "../wire/scopes";
import { May } from "./May";

interface Props {
  trigger: ReactNode;
  label: string;
  children: ReactNode;
  align?: "start" | "end";
  className?: string;
}

/** What was chosen is done when the focus is back at the button: a dialog gives it back to where it found it. */
const PendingChoice = createContext<RefObject<(() => void) | null> | null>(null);

export function Menu({ trigger, label, children, align = "start", className }: Props) {
  const chosen = useRef<(() => void) | null>(null);
  const closed = () => {
    const act = chosen.current;
    chosen.current = null;
    if (act) queueMicrotask(act);
  };
  // In the part of the page that its button is in: who goes from part to part by a screen reader does not miss it.
  const button = useRef<HTMLButtonElement>(null);
  const [part, setPart] = useState<HTMLElement | null>(null);
  return (
    <DropdownMenu.Root
      modal={false}
      onOpenChange={() => setPart(button.current?.closest<HTMLElement>("main, nav, aside") ?? null)}
    >
      <DropdownMenu.Trigger ref={button} asChild>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={part}>
        <DropdownMenu.Content
          aria-label={label}
          onCloseAutoFocus={closed}
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className={clsx(
            "rise z-40 max-h-[70vh] max-w-(--radix-dropdown-menu-content-available-width) min-w-52 overflow-y-auto rounded-xl border border-line bg-surface p-1.5 text-sm text-ink shadow-xl",
            className,
          )}
        >
          <PendingChoice value={chosen}>{children}</PendingChoice>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const ITEM =
  "flex cursor-pointer items-center thumb:min-h-11 gap-2.5 rounded-lg px-2.5 py-2 outline-none select-none data-highlighted:bg-sunken data-disabled:opacity-45";

export function MenuItem({
  children,
  onSelect,
  needs,
  danger = false,
}: {
  children: ReactNode;
  onSelect: () => void;
  /** What it asks the server to do: who may not do that does not see it. */
  needs?: Operation | undefined;
  danger?: boolean;
}) {
  const chosen = use(PendingChoice);
  const choose = () => {
    if (chosen) chosen.current = onSelect;
    else onSelect();
  };
  return (
    <May needs={needs}>
      <DropdownMenu.Item onSelect={choose} className={clsx(ITEM, danger && "text-bad")}>
        {children}
      </DropdownMenu.Item>
    </May>
  );
}

export function MenuChoice({
  value,
  onChoose,
  children,
}: {
  value: string;
  onChoose: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChoose}>
      {children}
    </DropdownMenu.RadioGroup>
  );
}

export function MenuOption({
  value,
  children,
  className,
  disabled = false,
}: {
  value: string;
  children: ReactNode;
  className?: string;
  disabled?: boolean;
}) {
  return (
    <DropdownMenu.RadioItem value={value} disabled={disabled} className={clsx(ITEM, className)}>
      {children}
    </DropdownMenu.RadioItem>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return (
    <DropdownMenu.Label className="px-2.5 pt-1.5 pb-1 text-xs font-medium text-ink-3">{children}</DropdownMenu.Label>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1.5 h-px bg-line" />;
}
