import { ListChecks } from "lucide-react";
import { Output } from "../content/Output";
import { useAuthor } from "../state/author";
import { t } from "../texts/messages";
import { t as people } from "../texts/people";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";

/** The request that an approved plan became: said in one line, there in full when wanted. */
export function ApprovedPlanCard({ message }: { message: Message }) {
  const author = useAuthor(message);
  const words = author === null ? t.youApprovedThePlan : people.approvedBy(author);
  return (
    <article aria-label={words} className="flex justify-end">
      <div className="max-w-full min-w-0">
        <Fold
          name={`plan ${message.id}`}
          summary={
            <span className="inline-flex items-center gap-1.5">
              <ListChecks size={15} aria-hidden />
              {words}
            </span>
          }
        >
          {() => <Output text={message.content} label={t.theApprovedPlanAsIt} />}
        </Fold>
      </div>
    </article>
  );
}
