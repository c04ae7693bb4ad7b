import type { ReactNode } from "react";
import { RoleBadge } from "../roles/RoleBadge";
import { dayAndTime } from "../texts/language";
import { clock } from "../ui/times";

/** The frame of everything an agent says: its role's badge, the time, and what it said. */
export function Says({
  role,
  at,
  children,
  aside,
}: {
  role: string | null;
  at: string;
  children: ReactNode;
  aside?: ReactNode;
}) {
  return (
    <article className="group/says min-w-0">
      <header className="mb-1.5 flex h-6 items-center gap-2">
        <RoleBadge role={role} />
        {at && (
          <time
            dateTime={at}
            title={dayAndTime(new Date(at))}
            className="shrink-0 text-xs whitespace-nowrap text-ink-3 tabular-nums"
          >
            {clock(at)}
          </time>
        )}
        <span className="ml-auto shrink-0 opacity-0 transition-opacity group-focus-within/says:opacity-100 group-hover/says:opacity-100">
          {aside}
        </span>
      </header>
      {children}
    </article>
  );
}
