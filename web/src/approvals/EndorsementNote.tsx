// What the agent had read that nobody vouched for, what it said, and where the call goes with it.

import { Milestone } from "lucide-react";
import { visible } from "../content/visible";
import { originWords } from "../rules/words";
import { t } from "../texts/approvals";
import type { Approval } from "../wire/nouns";

type Endorsement = NonNullable<Approval["endorsement"]>;

export function EndorsementNote({ endorsement }: { endorsement: Endorsement }) {
  return (
    <section aria-label={t.whereItCameFrom} className="mt-1 flex items-start gap-1.5 text-sm">
      <Milestone size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
      <div className="min-w-0">
        <p>{t.agentHasRead(endorsement.origins.map(originWords).join(", "))}</p>
        {endorsement.passage && (
          <blockquote className="my-1 max-h-40 overflow-y-auto border-l-2 border-line-strong pl-2.5 break-words whitespace-pre-wrap text-ink-2">
            {endorsement.passage}
          </blockquote>
        )}
        <p>{t.callGoesTo(endorsement.sinks.map(({ kind, subject }) => t.sinks[kind](visible(subject))).join(", "))}</p>
      </div>
    </section>
  );
}
