// What the agent asks: its options as buttons, the default marked, and a field where own words are allowed.

import clsx from "clsx";
import { Check, CircleHelp } from "lucide-react";
import { useState } from "react";
import { ConflictSides } from "../content/ConflictSides";
import { Inline } from "../content/Inline";
import { Markdown } from "../content/Markdown";
import { SeverityMark } from "../content/SeverityMark";
import { visible } from "../content/visible";
import { useAuthor } from "../state/author";
import type { QuestionStanding } from "../state/standing";
import { t as jobs } from "../texts/jobs";
import { t } from "../texts/messages";
import { Button } from "../ui/Button";
import type { Answer, Message, Question } from "../wire/nouns";
import { MergeEditor } from "./MergeEditor";
import { Says } from "./Says";

interface Props {
  message: Message;
  question: Question;
  standing: QuestionStanding;
  sending?: boolean;
  onAnswer: (answer: Answer) => void;
}

export function QuestionCard({ message, question, standing, sending = false, onAnswer }: Props) {
  const open = standing.state === "open";
  const author = useAuthor((standing.state === "answered" && standing.by) || { payload: null });
  return (
    <Says role={message.agent_role} at={message.created_at}>
      <div
        role="group"
        aria-label={t.question}
        className={clsx(
          "rounded-2xl border bg-surface px-5 py-4",
          open ? "border-line-strong shadow-sm" : "border-line",
        )}
      >
        <div className="mb-2 flex items-center gap-2 text-sm text-ink-2">
          <CircleHelp size={16} aria-hidden />
          {open ? t.theAgentAsks : t.asked}
          <SeverityMark severity={question.severity} />
        </div>
        <p className="font-medium break-words whitespace-pre-wrap">
          <Inline text={question.conflict ? question.question.split("\n\n")[0]! : question.question} />
        </p>
        {question.conflict && (
          <ConflictSides conflict={question.conflict} titles={[jobs.tasksVersion, jobs.presentVersion]} />
        )}
        {question.context && (
          <div className="mt-1.5 text-sm text-ink-2">
            <Markdown text={question.context} />
          </div>
        )}
        {open && <Options question={question} sending={sending} onAnswer={onAnswer} />}
        {standing.state === "answered" && (
          <p className="mt-3 inline-flex items-center gap-1.5 rounded-lg bg-good-soft px-2.5 py-1 text-sm text-good">
            <Check size={15} aria-hidden />{" "}
            {author ? t.personAnswered(author, standing.answer) : t.youAnswered(standing.answer)}
          </p>
        )}
        {standing.state === "withdrawn" && <p className="mt-3 text-sm text-ink-3">{t.withdrawnItWasNotAnswered}</p>}
      </div>
    </Says>
  );
}

const MERGE = "merge"; // the option that takes a file merged by hand

function Options({ question, sending, onAnswer }: Pick<Props, "question" | "sending" | "onAnswer">) {
  const [draft, setDraft] = useState<string | null>(null); // of a merge by hand, once it was chosen
  const offered = question.conflict?.draft ?? null;
  if (draft !== null)
    return (
      <MergeEditor
        path={question.conflict?.path ?? ""}
        draft={draft}
        sending={sending ?? false}
        onMerge={(content) => onAnswer({ value: MERGE, content })}
        onBack={() => setDraft(null)}
      />
    );
  return (
    <fieldset disabled={sending} className="mt-4 min-w-0 space-y-2 disabled:opacity-60">
      <legend className="sr-only">{t.answers}</legend>
      {question.options.map(({ label, value, description }) => (
        <button
          key={value}
          type="button"
          onClick={() => (value === MERGE && offered !== null ? setDraft(offered) : onAnswer({ value }))}
          className="flex w-full items-baseline gap-3 rounded-xl border border-line-strong/70 px-4 py-2.5 text-left thumb:min-h-11 hover:border-ink-3 hover:bg-sunken"
        >
          <span className="min-w-0">
            <span className="font-medium break-words">{visible(label)}</span>
            {description && <span className="block text-sm break-words text-ink-2">{visible(description)}</span>}
          </span>
          {value === question.default && (
            <span className="ml-auto shrink-0 rounded-full bg-sunken px-2 py-0.5 text-xs text-ink-2">
              {t.suggested}
            </span>
          )}
        </button>
      ))}
      {question.allow_custom && <OwnWords onAnswer={onAnswer} />}
    </fieldset>
  );
}

function OwnWords({ onAnswer }: Pick<Props, "onAnswer">) {
  const [words, setWords] = useState("");
  return (
    <form
      className="flex gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim()) onAnswer({ custom: words });
      }}
    >
      <input
        aria-label={t.answerInYourOwnWords}
        placeholder={t.orInYourOwnWords}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        className="min-h-10 min-w-0 flex-1 rounded-xl border border-line-strong/70 bg-paper px-3.5 text-sm placeholder:text-ink-3"
      />
      <Button type="submit" look="primary" disabled={!words.trim()}>
        {t.answer}
      </Button>
    </form>
  );
}
