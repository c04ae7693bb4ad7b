// A workflow in the conversation: the words that ordered it with how far it is, and each step's words, folded.

import { Output } from "../content/Output";
import type { Run } from "../state/runs";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import type { Message } from "../wire/nouns";
import { RunLine } from "../workflows/RunLine";
import { TextCard } from "./TextCard";

export function OrderCard({ message, run }: { message: Message; run: Run }) {
  return (
    <div className="space-y-2">
      <TextCard message={message} thought={null} />
      <div className="flex justify-end pl-2 sm:pl-10">
        <RunLine run={run} />
      </div>
    </div>
  );
}

/** `run` as it stood when the step began. The words are the workflow's, not the person's. */
export function StepCard({ message, run }: { message: Message; run: Run }) {
  return (
    <Fold
      name={`step ${message.id}`}
      summary={
        <span className="min-w-0 truncate">
          {t.stepOf(run.step, run.of)} <span className="text-ink">{run.title || run.name}</span>
        </span>
      }
    >
      {() => <Output text={message.content} label={t.whatTheAgentWasSent} />}
    </Fold>
  );
}
