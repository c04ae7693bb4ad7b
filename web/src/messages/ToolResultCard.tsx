import { DiffView } from "../content/DiffView";
import { denialReason } from "../content/denial";
import { Output } from "../content/Output";
import { reveal } from "../state/acts";
import { useLive } from "../state/live";
import { useMe } from "../state/me";
import { t } from "../texts/messages";
import { Button } from "../ui/Button";
import { attempt } from "../ui/outcomes";
import { loose, type Message, type ToolResult } from "../wire/nouns";
import { AgentWork } from "./AgentWork";

interface Props {
  result: ToolResult;
  output: string;
  /** The result's own message, where its chat is open. */
  messageId?: string | null;
}

/** What came back of a call: its diff if it changed something, its words otherwise. */
export function ToolResultCard({ result, output, messageId = null }: Props) {
  const shared = useMe().shared;
  const code = result.error?.code ?? "";
  const fault = shared && code === "denied_by_user" ? null : t.faults[code]; // where several work, the call's line names who denied it
  return (
    <div className="min-w-0">
      <AgentWork facts={result.facts} />
      <UnkeptNote fact={result.facts["unkept"]} />
      <PendingErrors fact={result.facts["diagnostics_pending"]} />
      <NewErrors fact={result.facts["diagnostics"]} />
      {messageId &&
        result.hidden.map((kind, index) => (
          <HiddenValue key={index} kind={kind} number={index + 1} messageId={messageId} />
        ))}
      {result.error && (
        <p className="py-1 text-sm text-ink-2">
          <span className="font-medium text-bad">{fault ?? t.statuses[result.status]}</span>
          {code === "denied_by_user" ? (
            <DenialReason message={result.error.message} />
          ) : (
            <>
              {" · "}
              <span lang="en">{result.error.message}</span>
            </>
          )}
        </p>
      )}
      {result.diff ? (
        <DiffView text={result.diff} />
      ) : result.error?.message === output || code === "denied_by_user" ? null : (
        <Output
          text={withoutRepeat(output, result.error?.message)}
          label={t.result}
          ending={result.status === "error"}
        />
      )}
    </div>
  );
}

function DenialReason({ message }: { message: string }) {
  const reason = denialReason(message);
  if (!reason) return null;
  return (
    <>
      {" · "}
      <span dir="auto" className="break-words">
        {reason}
      </span>
    </>
  );
}

/** Output ends with the reason why it ends, for the model; here the reason stands above it. Pure. */
function withoutRepeat(output: string, reason: string | undefined): string {
  return reason && output.endsWith(`\n${reason}`) ? output.slice(0, -reason.length - 1) : output;
}

/** Says that no model is told this value, and shows it to the agent if the person wants it to know. */
function HiddenValue({ kind, number, messageId }: { kind: string; number: number; messageId: string }) {
  const chatId = useLive(({ chatId }) => chatId);
  const shown = useLive(({ view }) => view?.messages.some((message) => reveals(message, messageId, number)) ?? false);
  return (
    <p className="flex flex-wrap items-center gap-x-3 py-1 text-sm text-ink-2">
      {shown ? t.shownToTheAgent(kind) : t.hiddenFromTheAgent(kind)}
      {chatId && !shown && (
        <Button
          look="quiet"
          needs="POST /context/{chat_id}/messages/{message_id}/reveal"
          onClick={() => void attempt(reveal(chatId, messageId, number))}
        >
          {t.showToTheAgent}
        </Button>
      )}
    </p>
  );
}

/** Whether this note shows the agent that value of that message. Pure. */
function reveals({ role, payload }: Message, messageId: string, number: number): boolean {
  const revealed = role === "system" ? loose(loose(payload)["revealed"]) : {};
  return revealed["message_id"] === messageId && revealed["number"] === number;
}

/** Says that a language server is not done with an edit. */
function PendingErrors({ fact }: { fact: unknown }) {
  const server = loose(fact)["server"];
  return typeof server === "string" ? <p className="py-1 text-sm text-ink-2">{t.errorsPending(server)}</p> : null;
}

/** The errors that a language server found in an edit, in its own words: text of a program, shown as such. */
function NewErrors({ fact }: { fact: unknown }) {
  const news = newErrorsOf(fact);
  if (!news) return null;
  const { server, count, errors } = news;
  return (
    <div className="py-1 text-sm text-ink-2">
      <p className="font-medium text-warn">{t.newErrors(count, server)}</p>
      <ul className="list-disc pl-5">
        {errors.map(({ path, line, message }, index) => (
          <li key={index} className="break-words">
            <code className="font-mono text-[12.5px]">{`${String(path)}:${String(line)}`}</code>{" "}
            <span lang="en">{String(message)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface NewErrorsFact {
  server: string;
  count: number;
  errors: { path?: unknown; line?: unknown; message?: unknown }[];
}

/** What a result says about them, or null. Pure. */
export function newErrorsOf(fact: unknown): NewErrorsFact | null {
  const { server, count, errors } = (fact ?? {}) as { server?: unknown; count?: unknown; errors?: unknown };
  if (typeof server !== "string" || typeof count !== "number" || !Array.isArray(errors)) return null;
  return { server, count, errors: errors as NewErrorsFact["errors"] };
}

/** Says what an undo cannot bring back: older files in folders that git ignores. */
function UnkeptNote({ fact }: { fact: unknown }) {
  const { files, first } = (fact ?? {}) as { files?: unknown; first?: unknown };
  if (typeof files !== "number" || typeof first !== "string") return null;
  return <p className="py-1 text-sm text-ink-2">{t.unkept(files, first)}</p>;
}
