// Which agent of another vendor did a call, and what it was kept from: refused requests, and files whose changes were not kept.

import { Bot } from "lucide-react";
import { t } from "../texts/messages";
import { text } from "../wire/nouns";

export function AgentWork({ facts }: { facts: Record<string, unknown> }) {
  const agent = text(facts["agent"]);
  if (!agent) return null;
  const calls = facts["agent_calls"];
  return (
    <div role="group" aria-label={agent} className="py-1 text-sm text-ink-2">
      <p className="flex items-center gap-1.5">
        <Bot size={14} aria-hidden className="shrink-0 text-ink-3" />
        {t.doneByTheAgent(agent, typeof calls === "number" ? calls : 0)}
      </p>
      <Refused title={t.keptFrom} lines={textsOf(facts["kept_from"])} />
      <Refused title={t.changesNotKept} lines={textsOf(facts["dropped_files"])} />
    </div>
  );
}

function Refused({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <>
      <p className="mt-1 font-medium text-warn">{title}</p>
      <ul aria-label={title} className="list-disc pl-5 font-mono text-xs break-words">
        {[...new Set(lines)].map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  );
}

function textsOf(found: unknown): string[] {
  return Array.isArray(found) ? found.map(text).filter(Boolean) : [];
}
