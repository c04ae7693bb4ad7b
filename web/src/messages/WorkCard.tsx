// A stretch of work: one call as one line, several under one heading that says how many.

import { Layers } from "lucide-react";
import type { CallStanding } from "../content/StatusMark";
import type { Done } from "../state/rows";
import { t } from "../texts/messages";
import { Fold } from "../ui/Fold";
import { Thinking } from "./Thinking";
import { ToolCallCard } from "./ToolCallCard";

const SHOWN = 3;

interface Props {
  calls: readonly Done[];
  /** Where each call stands that has no result. */
  standing: (callId: string) => CallStanding;
  /** The name of who decided a call whose batch still waits; empty for the owner. */
  decidedBy: (callId: string) => string;
  thought: number | null;
}

export function WorkCard({ calls, standing, decidedBy, thought }: Props) {
  const first = calls[0]?.message;
  const allDone = calls.every(({ result }) => result?.status === "ok");
  return (
    <div className="-ml-1.5 min-w-0">
      {first?.reasoning && (
        <div className="ml-1.5">
          <Thinking of={first.id} text={first.reasoning} took={thought} />
        </div>
      )}
      {calls.length > SHOWN && allDone ? (
        <Fold
          name={`work ${first?.id}`}
          summary={
            <span className="inline-flex items-center gap-2">
              <Layers size={15} aria-hidden className="text-ink-3" />
              {t.usedTools(calls.length)}
            </span>
          }
        >
          {() => <Calls calls={calls} standing={standing} decidedBy={decidedBy} />}
        </Fold>
      ) : (
        <Calls calls={calls} standing={standing} decidedBy={decidedBy} />
      )}
    </div>
  );
}

function Calls({ calls, standing, decidedBy }: Omit<Props, "thought">) {
  return calls.map((done) => (
    <ToolCallCard
      key={done.message.id}
      done={done}
      standing={standing(done.call.id)}
      decidedBy={decidedBy(done.call.id)}
    />
  ));
}
