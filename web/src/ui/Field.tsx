import type { ReactNode } from "react";

export const INPUT =
  "min-h-9 thumb:min-h-11 w-full min-w-0 rounded-lg border border-line-strong bg-paper px-3 text-sm placeholder:text-ink-3";

/** A name above its input, with a word about what belongs there. */
export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <label className="block min-w-0 text-sm">
      <span className="font-medium">{label}</span> {hint && <span className="text-ink-3">{hint}</span>}
      <span className="mt-1 block">{children}</span>
    </label>
  );
}
