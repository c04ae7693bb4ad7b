import { type ReactNode, useEffect, useRef } from "react";
import { SidebarButton } from "../chat/SidebarButton";
import { FolderForm } from "../chat/WorkspaceMenu";
import { McpServers } from "../mcp/McpServers";
import { Rules } from "../rules/Rules";
import { useWorkspaces } from "../state/queries";
import { t as mcp } from "../texts/mcp";
import { t } from "../texts/settings";
import { say } from "../ui/toasts";
import { Trust } from "../workflows/Trust";
import { Answers } from "./Answers";
import { Appearance } from "./Appearance";
import { Keys } from "./Keys";
import { Limits } from "./Limits";
import { LocalModels } from "./LocalModels";
import { Plugins } from "./Plugins";
import { Sandbox } from "./Sandbox";

/** `part` is the section that a link leads to. */
export default function SettingsPage({ part, onSidebar }: { part: string | null; onSidebar: () => void }) {
  useJump(part);
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col overflow-y-auto">
      <header className="sticky top-0 z-10 flex h-14 shrink-0 items-center gap-2 border-b border-line bg-paper px-2 sm:px-4">
        <SidebarButton onClick={onSidebar} />
        <h1 className="text-[15px] font-semibold">{t.settings}</h1>
        <Parts />
      </header>
      <div className="mx-auto w-full max-w-2xl space-y-10 px-4 pt-4 pb-16 sm:px-6">
        <Section id="answers" title={t.models2} about={t.modelsThatAgentsWorkWith}>
          <Answers />
        </Section>
        <Section id="local" title={t.aModelOnThisMachine} about={t.smallSlowAndPrivateNothing}>
          <LocalModels />
        </Section>
        <Section id="folders" title={t.folders} about={t.agentsWorkInTheseFolders}>
          <Folders />
        </Section>
        <Section id="rules" title={t.rules} about={t.standingAnswersADenialWins}>
          <Rules />
        </Section>
        <Section id="keys" title={t.clientKeys} about={t.forEditorsAndProgramsThat}>
          <Keys />
        </Section>
        <Section id="plugins" title={t.plugins} about={t.toolsOfOthersNothingIs}>
          <Plugins />
        </Section>
        <Section id="mcp" title={mcp.title} about={mcp.about}>
          <McpServers />
        </Section>
        <Section id="safety" title={t.safety} about={t.whatHoldsACommandThat}>
          <Sandbox />
        </Section>
        <Section id="limits" title={t.howFarATurnMay} about={t.aTurnThatReachesA}>
          <Limits />
        </Section>
        <Section id="browser" title={t.thisBrowser} about={t.keptHereNotOnThe}>
          <Appearance />
        </Section>
      </div>
    </main>
  );
}

const PARTS: readonly (readonly [id: string, title: string])[] = [
  ["answers", t.models2],
  ["folders", t.folders],
  ["rules", t.rules],
  ["keys", t.clientKeys],
  ["plugins", t.plugins],
  ["mcp", mcp.title],
  ["safety", t.safety],
  ["limits", t.limits],
  ["browser", t.thisBrowser],
];

/** The way to each part, always in reach. A link that is followed twice leads there twice. */
function Parts() {
  return (
    <nav aria-label={t.partsOfTheSettings} className="ml-2 flex min-w-0 gap-1 overflow-x-auto">
      {PARTS.map(([id, title]) => (
        <a
          key={id}
          href={`#/settings/${id}`}
          onClick={() => document.getElementById(id)?.scrollIntoView()}
          className="inline-flex min-h-9 shrink-0 items-center rounded-lg px-2.5 text-sm whitespace-nowrap text-ink-2 outline-offset-[-2px] hover:bg-sunken hover:text-ink thumb:min-h-11"
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

/** Once per link: what is read later must not pull the reader back. */
function useJump(part: string | null): void {
  const jumped = useRef<string | null>(null);
  useEffect(() => {
    if (!part || jumped.current === part) return;
    jumped.current = part;
    document.getElementById(part)?.scrollIntoView();
  }, [part]);
}

function Section({ id, title, about, children }: { id: string; title: string; about: string; children: ReactNode }) {
  return (
    <section id={id} aria-label={title} className="scroll-mt-18">
      <h2 className="font-semibold">{title}</h2>
      <p className="mb-4 text-sm text-ink-2">{about}</p>
      {children}
    </section>
  );
}

export function Folders() {
  const { data: workspaces = [] } = useWorkspaces(0);
  return (
    <div className="rounded-2xl border border-line bg-surface p-4">
      <ul className="mb-4 space-y-1">
        {workspaces.map(({ root, supplies }) => (
          <li key={root}>
            <p className="truncate font-mono text-[13px]">{root}</p>
            {supplies.length > 0 && (
              <ul aria-label={t.suppliedBy(root)} className="my-2 space-y-3 border-l border-line pl-3.5">
                {supplies.map((file) => (
                  <li key={file.path}>
                    <Trust workspace={root} file={file} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      <FolderForm onAdded={(root) => say(t.added(root))} />
    </div>
  );
}
