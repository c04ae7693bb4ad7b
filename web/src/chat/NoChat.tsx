import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { May } from "../ui/May";
import { SidebarButton } from "../ui/SidebarButton";
import type { Refusal } from "../wire/client";

export function NoChat({
  problem,
  onSidebar,
  onAgain,
}: {
  problem: Refusal;
  onSidebar: () => void;
  onAgain: () => void;
}) {
  const away = problem.status === 0;
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col">
      <div className="p-2">
        <SidebarButton onClick={onSidebar} />
      </div>
      <div className="m-auto max-w-sm px-6 pb-24 text-center">
        <h1 className="text-lg font-semibold">
          {problem.status === 404 ? t.thisChatIsNotHere : away ? t.thisChatCannotBeReached : t.thisChatCannotBeShown}
        </h1>
        <p className="mt-2 text-sm text-ink-2">{away ? t.theServerDoesNotAnswer : problem.message}</p>
        {away ? (
          <Button look="primary" className="mt-5" onClick={onAgain}>
            {t.tryAgain}
          </Button>
        ) : (
          <May needs="POST /context">
            <a
              href="#/"
              className="mt-5 inline-flex min-h-9 items-center rounded-lg bg-ink px-4 text-sm font-medium text-paper thumb:min-h-11"
            >
              {t.startANewOne}
            </a>
          </May>
        )}
      </div>
    </main>
  );
}
