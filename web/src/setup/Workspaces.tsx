import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { useState } from "react";
import { mayShare, VisibilityDialog, wordsOf } from "../content/VisibilityDialog";
import { changeWorkspace, removeWorkspace } from "../state/acts";
import { useMay, useMe } from "../state/me";
import { useSettings, useWorkspaces } from "../state/queries";
import { t as list } from "../texts/chats";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { INPUT, VERBATIM } from "../ui/Field";
import { attempt, say } from "../ui/outcomes";
import { Trust } from "../workflows/Trust";
import { FolderForm } from "./FolderForm";

export function Workspaces() {
  const { data: workspaces = [] } = useWorkspaces(0);
  const { data: settings } = useSettings();
  const queries = useQueryClient();
  const mayVouch = useMay("PATCH /workspaces/{workspace_id}");
  const readAgain = () => void queries.invalidateQueries({ queryKey: ["workspaces"] });
  return (
    <div className="rounded-2xl border border-line bg-surface p-4">
      <ul className="mb-4 space-y-1">
        {workspaces.map(({ id, root, supplies, trusts_contents, visibility, owner, check }) => (
          <li key={root}>
            <p className="flex items-center gap-2">
              <span className="min-w-0 flex-1 truncate font-mono text-[13px]">{root}</span>
              {id && root !== settings?.["workspace"] && (
                <Button
                  needs="DELETE /workspaces/{workspace_id}"
                  look="quiet"
                  aria-label={t.remove(root)}
                  onClick={() => void attempt(removeWorkspace(id)).then((done) => done && readAgain())}
                >
                  {t.remove2}
                </Button>
              )}
            </p>
            {id && <SeenBy {...{ id, root, visibility, owner }} onChanged={readAgain} />}
            {id && mayVouch && (
              <CheckField key={check ?? ""} {...{ id, root }} check={check ?? ""} onSaved={readAgain} />
            )}
            {id && (
              <label className="flex items-start gap-2 text-sm text-ink-2">
                <input
                  type="checkbox"
                  className="mt-1"
                  checked={trusts_contents}
                  disabled={!mayVouch}
                  onChange={({ target }) =>
                    void attempt(changeWorkspace(id, { trusts_contents: target.checked })).then(
                      (done) => done && readAgain(),
                    )
                  }
                />
                {t.vouchFor}
              </label>
            )}
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

interface CheckFieldProps {
  id: string;
  root: string;
  check: string;
  onSaved: () => void;
}

/** The command that checks the work in the folder; without one, the tests that are found there. */
function CheckField({ id, root, check, onSaved }: CheckFieldProps) {
  const [command, setCommand] = useState(check);
  const save = () => attempt(changeWorkspace(id, { check: command.trim() })).then((done) => done && onSaved());
  return (
    <form
      className="my-1 flex flex-wrap items-center gap-2 text-sm text-ink-2"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label className="flex min-w-0 flex-1 basis-72 items-center gap-2">
        {t.checkOfWorkspace}
        <input
          className={clsx(INPUT, "min-w-0 flex-1 font-mono text-[13px]")}
          {...VERBATIM}
          aria-description={root}
          placeholder={t.testsThatAreFound}
          value={command}
          maxLength={2_000}
          onChange={({ target }) => setCommand(target.value)}
        />
      </label>
      {command.trim() !== check && <Button type="submit">{t.saveCheck}</Button>}
    </form>
  );
}

interface SeenByProps {
  id: string;
  root: string;
  visibility?: string | undefined;
  owner?: string | undefined;
  onChanged: () => void;
}

function SeenBy({ id, root, visibility = "everyone", owner, onChanged }: SeenByProps) {
  const me = useMe();
  const [changes, setChanges] = useState(false);
  if (!me.shared) return null;
  return (
    <p className="flex flex-wrap items-center gap-x-2 text-sm text-ink-2">
      {list.seenBy(wordsOf(visibility))}
      {mayShare(me, owner) && (
        <Button
          needs="PATCH /workspaces/{workspace_id}"
          look="quiet"
          aria-label={list.changeWhoSees(root)}
          onClick={() => setChanges(true)}
        >
          {list.change}
        </Button>
      )}
      <VisibilityDialog
        open={changes}
        visibility={visibility}
        note={list.chatsAreSeenByNoMore}
        onChange={async (wanted) => {
          await changeWorkspace(id, { visibility: wanted });
          onChanged();
        }}
        onClose={() => setChanges(false)}
      />
    </p>
  );
}
