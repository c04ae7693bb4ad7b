import { Check, ChevronDown, FolderClosed, FolderGit2, FolderPlus } from "lucide-react";
import { useState } from "react";
import { WorktreeForm } from "../files/WorktreeForm";
import { FolderForm } from "../setup/FolderForm";
import { useSettings, useWorkspaces } from "../state/queries";
import { t } from "../texts/chat";
import { t as git } from "../texts/git";
import { Dialog } from "../ui/Dialog";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuLine, MenuOption } from "../ui/Menu";
import { text } from "../wire/nouns";

export function WorkspaceMenu({
  workspace,
  onChoose,
}: {
  workspace: string | null;
  onChoose: (workspace: string) => void;
}) {
  const { data: workspaces = [] } = useWorkspaces();
  const { data: settings } = useSettings();
  const [adding, setAdding] = useState(false);
  const [branching, setBranching] = useState(false);
  const current = workspace ?? (text(settings?.["workspace"]) || workspaces[0]?.root) ?? "";
  return (
    <>
      <Menu
        label={t.folders}
        className="max-w-[min(32rem,calc(100vw-1rem))]"
        trigger={
          <button
            type="button"
            aria-label={t.folder(current)}
            title={current}
            className="inline-flex min-h-9 thumb:min-h-11 min-w-0 items-center gap-2 rounded-lg px-2.5 text-sm text-ink-2 hover:bg-sunken"
          >
            <FolderClosed size={15} aria-hidden className="shrink-0" />
            <span className="truncate">{shortPath(current)}</span>
            <ChevronDown size={14} aria-hidden className="shrink-0 opacity-70" />
          </button>
        }
      >
        <MenuLabel>{t.whereTheAgentWorks}</MenuLabel>
        <MenuChoice value={current} onChoose={onChoose}>
          {workspaces.map(({ root }) => (
            <MenuOption key={root} value={root}>
              <FolderClosed size={15} aria-hidden className="shrink-0" />
              <span className="min-w-0 flex-1 truncate">{root}</span>
              {root === current && <Check size={15} aria-label={t.chosen} />}
            </MenuOption>
          ))}
        </MenuChoice>
        <MenuLine />
        <MenuItem needs="POST /workspaces" onSelect={() => setAdding(true)}>
          <FolderPlus size={15} aria-hidden /> {t.addAFolder}
        </MenuItem>
        <MenuItem needs="POST /workspaces/worktrees" onSelect={() => setBranching(true)}>
          <FolderGit2 size={15} aria-hidden /> {git.workInAWorktree}
        </MenuItem>
      </Menu>
      <Dialog title={t.addAFolder2} open={adding} onClose={() => setAdding(false)}>
        <FolderForm
          explained
          onAdded={(root) => {
            onChoose(root);
            setAdding(false);
          }}
        />
      </Dialog>
      <Dialog title={git.worktreeTitle} open={branching} onClose={() => setBranching(false)}>
        <WorktreeForm
          where={{ workspace: current }}
          onMade={(root) => {
            onChoose(root);
            setBranching(false);
          }}
        />
      </Dialog>
    </>
  );
}

function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}
