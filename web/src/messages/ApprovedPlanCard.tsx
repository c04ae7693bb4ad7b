import { ListChecks } from "lucide-react";
import { Output } from "../content/Output";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";

/** The request that an approved plan became: said in one line, there in full when wanted. */
export function ApprovedPlanCard({ message }: { message: Message }) {
  return (
    <article aria-label={t.youApprovedThePlan} className="flex justify-end">
      <div className="max-w-full min-w-0">
        <Fold
          name={`plan ${message.id}`}
          summary={
            <span className="inline-flex items-center gap-1.5">
              <ListChecks size={15} aria-hidden />
              {t.youApprovedThePlan}
            </span>
          }
        >
          {() => <Output text={message.content} label={t.theApprovedPlanAsIt} />}
        </Fold>
      </div>
    </article>
  );
}
