import { ListChecks } from "lucide-react";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";
import { Output } from "./Output";

/** The request that an approved plan became: said in one line, there in full when wanted. */
export function ApprovedPlanCard({ message }: { message: Message }) {
  return (
    <article aria-label="You approved the plan" className="flex justify-end">
      <div className="max-w-full min-w-0">
        <Fold
          name={`plan ${message.id}`}
          summary={
            <span className="inline-flex items-center gap-1.5">
              <ListChecks size={15} aria-hidden />
              You approved the plan
            </span>
          }
        >
          {() => <Output text={message.content} label="The approved plan as it was sent" />}
        </Fold>
      </div>
    </article>
  );
}
