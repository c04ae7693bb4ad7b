import { ShieldAlert } from "lucide-react";
import { t } from "../texts/approvals";
import type { Approval } from "../wire/nouns";

/** Only where it is high: a mark that is always there says nothing. The reasons beside it say why. */
export function RiskMark({ risk }: { risk: Approval["risk"] }) {
  if (risk !== "high") return null;
  return (
    <span className="inline-flex shrink-0 items-center gap-1 rounded-full bg-bad-soft px-2 py-0.5 text-xs font-medium text-bad">
      <ShieldAlert size={12} aria-hidden />
      {t.highRisk}
    </span>
  );
}
