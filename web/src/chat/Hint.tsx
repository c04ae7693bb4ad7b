import { Lightbulb, RotateCcw } from "lucide-react";
import { type ChatView, continuable } from "../state/reduce";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { loose, readFault, readToolResult } from "../wire/nouns";

interface Props {
  view: ChatView;
  busy: boolean;
  onSwitch: (role: string) => void;
  onAgain: (words: string) => void;
}

/** After a role's refusal, or a turn that failed, the way out is one press away. */
export function Hint({ view, busy, onSwitch, onAgain }: Props) {
  if (view.state !== "idle" || continuable(view)) return null;
  const unanswered = failedWords(view);
  if (unanswered !== null) {
    return (
      <Button icon={<RotateCcw size={15} aria-hidden />} disabled={busy} onClick={() => onAgain(unanswered)}>
        {t.tryAgain}
      </Button>
    );
  }
  if (view.role === "actor" || !refusedByRole(view)) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-xl border border-dashed border-line-strong px-4 py-2.5 text-sm text-ink-2">
      <Lightbulb size={16} aria-hidden className="text-warn" />
      {t.thisRoleMayNotDo}
      <Button className="ml-auto" onClick={() => onSwitch("actor")}>
        {t.switchToActor}
      </Button>
    </div>
  );
}

/** What the person had written, if the chat ends with a fault; null for what only looks like words: an image, a plan, a workflow. */
function failedWords(view: ChatView): string | null {
  const last = view.messages.at(-1);
  if (last?.role !== "system" || !readFault(loose(last.payload)["error"])) return null;
  const asked = view.messages.findLast(({ role }) => role === "user");
  return asked && Object.keys(loose(asked.payload)).every((name) => name === "author") ? asked.content : null;
}

function refusedByRole(view: ChatView): boolean {
  const lastAsked = view.messages.findLastIndex(({ role }) => role === "user");
  const since = view.messages.slice(Math.max(0, lastAsked));
  return since.some(
    ({ message_type, payload }) =>
      message_type === "tool_result" && readToolResult(payload)?.error?.code === "forbidden_by_role",
  );
}
