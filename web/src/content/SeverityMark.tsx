import clsx from "clsx";
import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import { t } from "../texts/messages";
import type { Severity } from "../wire/nouns";

const LOOKS = {
  critical: { Icon: CircleAlert, words: t.critical, className: "bg-bad-soft text-bad" },
  major: { Icon: TriangleAlert, words: t.major, className: "bg-warn-soft text-warn" },
  minor: { Icon: Info, words: t.minor, className: "bg-sunken text-ink-2" },
} as const;

export function SeverityMark({ severity }: { severity: Severity }) {
  const { Icon, words, className } = LOOKS[severity];
  return (
    <span className={clsx("inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium", className)}>
      <Icon size={12} aria-hidden />
      {words}
    </span>
  );
}
