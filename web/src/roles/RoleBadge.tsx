import clsx from "clsx";
import { useRoles } from "../state/queries";
import { lookOf } from "./theme";

/** Who spoke, in which role: colour, icon and word together. */
export function RoleBadge({ role, className }: { role: string | null; className?: string }) {
  const { Icon, title, colour, tooltip } = lookOf(useRoles(), role);
  return (
    <span
      data-colour={colour}
      title={tooltip}
      className={clsx("inline-flex min-w-0 items-center gap-1.5 text-[13px] font-semibold text-role", className)}
    >
      <span className="inline-flex size-5 shrink-0 items-center justify-center rounded-md bg-role-soft">
        <Icon size={13} strokeWidth={2.4} aria-hidden />
      </span>
      <span className="truncate">{title}</span>
    </span>
  );
}
