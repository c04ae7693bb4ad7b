import { ClipboardCheck } from "lucide-react";
import { Markdown } from "../content/Markdown";
import { SeverityMark } from "../content/SeverityMark";
import { t } from "../texts/messages";
import type { Message, Review } from "../wire/nouns";
import { Says } from "./Says";

export function ReviewCard({ message, review }: { message: Message; review: Review }) {
  return (
    <Says role={message.agent_role} at={message.created_at}>
      <div role="group" aria-label={t.review} className="overflow-hidden rounded-2xl border border-line bg-surface">
        <div className="flex items-start gap-3 border-b border-line px-5 py-4">
          <ClipboardCheck size={18} aria-hidden className="mt-0.5 shrink-0 text-ink-3" />
          <Markdown text={review.summary} />
        </div>
        {review.findings.length === 0 ? (
          <p className="px-5 py-4 text-sm text-ink-2">{t.noFindings}</p>
        ) : (
          <ol className="divide-y divide-line">
            {review.findings.map((finding, at) => (
              <li key={at} className="px-5 py-3.5">
                <div className="mb-1 flex flex-wrap items-center gap-2 text-sm">
                  <SeverityMark severity={finding.severity} />
                  <code className="font-mono text-[13px] break-all">
                    {finding.path}
                    {finding.line !== null && `:${finding.line}`}
                  </code>
                </div>
                <p className="text-sm">{finding.problem}</p>
                {finding.suggestion && <p className="mt-1 text-sm text-ink-2">→ {finding.suggestion}</p>}
              </li>
            ))}
          </ol>
        )}
      </div>
    </Says>
  );
}
