import { useWorkspaces } from "../state/queries";
import { t } from "../texts/settings";
import { say } from "../ui/toasts";
import { Trust } from "../workflows/Trust";
import { FolderForm } from "./FolderForm";

export function Workspaces() {
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
