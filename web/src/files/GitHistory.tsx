// The history of the repository: the log by the page, and what one commit changed. Nothing is read before it is opened.

import { useState } from "react";
import { DiffView } from "../content/DiffView";
import { visible } from "../content/visible";
import { t } from "../texts/git";
import { dayAndTime } from "../texts/language";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { type GitCommit, useGitCommit, useGitCommitDifference, useGitLog } from "./gitActs";

export function GitHistory({ chatId }: { chatId: string }) {
  return (
    <Fold summary={<span className="text-sm font-medium">{t.history}</span>}>{() => <Log chatId={chatId} />}</Fold>
  );
}

function Log({ chatId }: { chatId: string }) {
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useGitLog(chatId);
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="text-sm text-ink-3">{t.reading}</p>;
  return (
    <>
      <ol aria-label={t.commits} className="space-y-0.5">
        {data.pages
          .flatMap(({ commits }) => commits)
          .map((commit) => (
            <li key={commit.id}>
              <Fold summary={<CommitLine commit={commit} />}>{() => <Commit chatId={chatId} id={commit.id} />}</Fold>
            </li>
          ))}
      </ol>
      {hasNextPage && (
        <Button look="quiet" disabled={isFetching} onClick={() => void fetchNextPage()}>
          {t.olderCommits}
        </Button>
      )}
    </>
  );
}

function CommitLine({ commit }: { commit: GitCommit }) {
  return (
    <span className="flex min-w-0 flex-1 items-baseline gap-2 text-[13px]">
      <code className="shrink-0 font-mono text-xs text-ink-3">{commit.id.slice(0, 10)}</code>
      <span className="min-w-0 flex-1 truncate text-ink">{visible(commit.subject)}</span>
      <span className="shrink-0 truncate text-xs text-ink-3">{visible(commit.author)}</span>
    </span>
  );
}

function Commit({ chatId, id }: { chatId: string; id: string }) {
  const { data: commit, error } = useGitCommit(chatId, id);
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  if (!commit) return <p className="text-sm text-ink-3">{t.reading}</p>;
  return (
    <div className="space-y-1.5 pb-2 text-sm">
      <p className="break-words text-ink">{visible(commit.subject)}</p>
      {commit.body && <p className="break-words whitespace-pre-wrap text-ink-2">{visible(commit.body)}</p>}
      <p className="text-xs text-ink-3">
        {visible(commit.author)} · {dayAndTime(new Date(commit.created_at))}
      </p>
      <ul aria-label={t.filesOfCommit} className="space-y-0.5">
        {commit.files.map((file) => (
          <li key={file.path}>
            <Fold
              summary={
                <span className="flex min-w-0 flex-1 items-center gap-2 text-[13px]">
                  <code className="min-w-0 truncate font-mono text-ink">{file.shown}</code>
                  <span className="ml-auto shrink-0 text-xs text-ink-3">{t.statuses[file.status]}</span>
                </span>
              }
            >
              {() => <CommitDifference chatId={chatId} id={id} path={file.path} />}
            </Fold>
          </li>
        ))}
      </ul>
      {!commit.complete && <p className="text-xs text-ink-3">{t.notAllListed}</p>}
    </div>
  );
}

function CommitDifference({ chatId, id, path }: { chatId: string; id: string; path: string }) {
  const [reveal, setReveal] = useState(false);
  const { data, error } = useGitCommitDifference(chatId, id, path, reveal);
  if (error) return <p className="text-sm text-bad">{error.message}</p>;
  if (!data) return <p className="text-sm text-ink-3">{t.reading}</p>;
  if (data.diff === null)
    return (
      <Button className="!min-h-8 thumb:!min-h-11" onClick={() => setReveal(true)}>
        {t.reveal}
      </Button>
    );
  return data.diff ? <DiffView text={data.diff} /> : <p className="text-sm text-ink-3">{t.noDifference}</p>;
}
