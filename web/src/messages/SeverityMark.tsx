import clsx from "clsx";
import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import type { Severity } from "../wire/nouns";

const LOOKS = {
  critical: { Icon: CircleAlert, words: "Critical", className: "bg-bad-soft text-bad" },
  major: { Icon: TriangleAlert, words: "Major", className: "bg-warn-soft text-warn" },
  minor: { Icon: Info, words: "Minor", className: "bg-sunken text-ink-2" },
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
