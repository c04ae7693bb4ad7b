// Every job, of all chats, the newest first.

import { Inline } from "../content/Inline";
import { t } from "../texts/jobs";
import { Button } from "../ui/Button";
import { Outcomes } from "../ui/Outcomes";
import { SidebarButton } from "../ui/SidebarButton";
import { useAgo } from "../ui/times";
import { JobStatusMark } from "./JobStatusMark";
import { type JobSummary, statusNow, useAskingChats, useJobs } from "./jobs";

export default function JobsPage({ onSidebar }: { onSidebar: () => void }) {
  const found = useJobs();
  const asking = useAskingChats();
  const jobs = found.data?.pages.flatMap((page) => page.jobs) ?? [];
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col overflow-y-auto">
      <header className="sticky top-0 z-10 flex h-14 shrink-0 items-center gap-2 border-b border-line bg-paper px-2 sm:px-4">
        <SidebarButton onClick={onSidebar} />
        <h1 className="text-[15px] font-semibold">{t.jobs}</h1>
      </header>
      <div className="mx-auto w-full max-w-2xl px-4 pt-4 pb-16 sm:px-6">
        <Outcomes page className="mb-3" />
        {found.isError && jobs.length === 0 && (
          <div role="alert" className="py-12 text-center text-sm">
            <p className="text-ink-2">{t.jobsFailed}</p>
            <Button className="mt-3" onClick={() => void found.refetch()}>
              {t.tryAgain}
            </Button>
          </div>
        )}
        {found.isSuccess && jobs.length === 0 && (
          <div className="py-16 text-center">
            <h2 className="font-semibold">{t.noJobs}</h2>
            <p className="mx-auto mt-2 max-w-md text-sm text-ink-2">{t.noJobsHint}</p>
          </div>
        )}
        <ul className="space-y-1">
          {jobs.map((job) => (
            <JobLine key={job.id} job={job} waits={asking.has(job.context_id)} />
          ))}
        </ul>
        {found.hasNextPage && (
          <Button look="quiet" className="mt-3" onClick={() => void found.fetchNextPage()}>
            {t.older}
          </Button>
        )}
      </div>
    </main>
  );
}

function JobLine({ job, waits }: { job: JobSummary; waits: boolean }) {
  return (
    <li>
      <a
        href={`#/jobs/${job.id}`}
        className="flex min-h-12 items-center gap-3 rounded-xl border border-transparent px-3 py-2 text-sm hover:border-line hover:bg-surface"
      >
        <span dir="auto" className="line-clamp-2 min-w-0 flex-1 break-words">
          <Inline text={job.request} />
        </span>
        <JobStatusMark status={statusNow(job.status, waits)} />
        <span className="shrink-0 text-xs text-ink-3 tabular-nums">{useAgo(job.created_at)}</span>
      </a>
    </li>
  );
}
