import { Flag } from "lucide-react";
import { Markdown } from "../content/Markdown";
import { t } from "../texts/messages";
import { loose, type Message, text } from "../wire/nouns";
import { TaskFrame } from "./TaskFrame";

/** A worker reports in JSON; people read its summary and its evidence. What is no report is shown as it came. */
export function TaskResultCard({ message }: { message: Message }) {
  const report = reportOf(message);
  const summary = text(report["summary"]);
  return (
    <TaskFrame icon={<Flag size={15} aria-hidden />} words={t.taskResult} message={message} summary={summary}>
      {summary ? <Report summary={summary} evidence={evidenceOf(report["evidence"])} /> : null}
    </TaskFrame>
  );
}

function Report({ summary, evidence }: { summary: string; evidence: string[] }) {
  return (
    <>
      <Markdown text={summary} />
      {evidence.length > 0 && (
        <div className="mt-2 text-sm">
          <h3 className="font-medium text-ink-2">{t.evidence}</h3>
          <ul className="list-disc pl-5 text-ink-2">
            {evidence.map((line, at) => (
              <li key={at} className="break-words">
                {line}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function reportOf({ payload, content }: Message): Readonly<Record<string, unknown>> {
  const stored = loose(payload);
  if (text(stored["summary"])) return stored;
  try {
    return loose(JSON.parse(content));
  } catch {
    return {};
  }
}

function evidenceOf(found: unknown): string[] {
  const lines = Array.isArray(found) ? found : found ? [found] : [];
  return lines.map((line) => {
    if (typeof line !== "object" || line === null) return String(line);
    const parts = Object.entries(line).map(([name, value]) => `${name}: ${typeof value === "object" ? "…" : value}`);
    return parts.join(", ");
  });
}
