import { Lightbulb } from "lucide-react";
import { Button } from "../ui/Button";
import type { ChatView } from "../state/reduce";
import { readToolResult } from "../wire/nouns";

/** After a role's refusal the way out is one press away. */
export function Hint({ view, onSwitch }: { view: ChatView; onSwitch: (role: string) => void }) {
  if (view.state !== "idle" || view.role === "actor" || !refusedByRole(view)) return null;
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-xl border border-dashed border-line-strong px-4 py-2.5 text-sm text-ink-2">
      <Lightbulb size={16} aria-hidden className="text-warn" />
      This role may not do that.
      <Button className="ml-auto" onClick={() => onSwitch("actor")}>
        Switch to Actor
      </Button>
    </div>
  );
}

export function refusedByRole(view: ChatView): boolean {
  const lastAsked = view.messages.findLastIndex(({ role }) => role === "user");
  const since = view.messages.slice(Math.max(0, lastAsked));
  return since.some(({ message_type, payload }) => message_type === "tool_result" && readToolResult(payload)?.error?.code === "forbidden_by_role");
}
