// What a decision grants, item by item and in full: nothing is cut, whatever is long wraps. Control files stand first and say so.

import clsx from "clsx";
import { TriangleAlert } from "lucide-react";
import type { VisibleText } from "../content/visible";
import { t } from "../texts/approvals";
import type { DisclosedItem } from "../wire/nouns";

export function DisclosedList({ items, label }: { items: readonly DisclosedItem[]; label: string }) {
  if (items.length === 0) return null;
  return (
    <section aria-label={label} className="my-1.5 rounded-xl border border-line bg-surface px-3.5 py-2 text-sm">
      <p className="text-xs font-medium text-ink-2">{label}</p>
      <ul className="mt-1 space-y-1">
        {items.map((item, at) => (
          <li key={at}>
            {item.control && (
              <span className="mr-1.5 inline-flex items-center gap-1 rounded-full bg-warn-soft px-2 text-xs font-medium text-warn">
                <TriangleAlert size={12} aria-hidden /> {t.controlFile}
              </span>
            )}
            {item.detail && <span className="mr-1.5 text-ink-2">{item.detail}</span>}
            <GrantedText text={item.text as VisibleText} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The one way to show what is granted: whole, as it was escaped. */
export function GrantedText({ text, className }: { text: VisibleText; className?: string }) {
  return (
    <code
      dir="ltr"
      className={clsx("min-w-0 font-mono text-[12.5px] [overflow-wrap:anywhere] whitespace-pre-wrap", className)}
    >
      {text}
    </code>
  );
}
