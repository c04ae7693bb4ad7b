import clsx from "clsx";
import { ShieldAlert, ShieldCheck, ShieldQuestion } from "lucide-react";
import { t } from "../texts/approvals";
import type { Approval } from "../wire/nouns";

const LOOKS = {
  low: { Icon: ShieldCheck, words: t.lowRisk, className: "bg-good-soft text-good" },
  medium: { Icon: ShieldQuestion, words: t.mediumRisk, className: "bg-warn-soft text-warn" },
  high: { Icon: ShieldAlert, words: t.highRisk, className: "bg-bad-soft text-bad" },
} as const;

export function RiskMark({ risk }: { risk: Approval["risk"] }) {
  const { Icon, words, className } = LOOKS[risk];
  return (
    <span
      className={clsx(
        "inline-flex shrink-0 items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium",
        className,
      )}
    >
      <Icon size={12} aria-hidden />
      {words}
    </span>
  );
}
