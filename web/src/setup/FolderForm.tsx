// Registers a folder that agents may work in.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { FolderClosed } from "lucide-react";
import { useState } from "react";
import * as acts from "../state/acts";
import { useWorkspaces } from "../state/queries";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { wantsFocus } from "../ui/Dialog";
import { VERBATIM } from "../ui/Field";
import { api, given, Refusal } from "../wire/client";

interface Props {
  onAdded: (root: string) => void;
  /** Whether to say what a folder is for, where the page does not. */
  explained?: boolean;
}

export function FolderForm({ onAdded, explained = false }: Props) {
  const queries = useQueryClient();
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const folders = useFoldersLike(path);
  const known = new Set(useWorkspaces().data?.map(({ root }) => root));
  const add = async () => {
    try {
      const root = await acts.registerWorkspace(path.trim());
      await queries.invalidateQueries({ queryKey: ["workspaces"] });
      setPath("");
      setProblem(null);
      onAdded(root);
    } catch (error) {
      setProblem(error instanceof Refusal ? error.message : t.thatDidNotWork);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (path.trim()) void add();
      }}
    >
      {explained && <p className="mb-3 text-sm text-ink-2">{t.agentsReadAndChangeFiles}</p>}
      <div className="flex gap-2">
        <input
          ref={wantsFocus}
          aria-label={t.folder2}
          aria-invalid={problem !== null}
          placeholder="/home/me/project"
          {...VERBATIM}
          value={path}
          onChange={({ target }) => setPath(target.value)}
          className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-paper px-3 font-mono text-sm"
        />
        <Button look="primary" type="submit" disabled={!path.trim()}>
          {t.add}
        </Button>
      </div>
      <Folders folders={folders} known={known} onChoose={(folder) => setPath(`${folder}/`)} />
      {problem && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {problem}
        </p>
      )}
    </form>
  );
}

const SHOWN = 6;

interface FoldersProps {
  folders: readonly string[];
  /** Those that were added before: one is offered only as the way to a folder in it. */
  known: ReadonlySet<string>;
  onChoose: (folder: string) => void;
}

/** The folders that the path may go on with: each press goes one deeper. */
function Folders({ folders, known, onChoose }: FoldersProps) {
  if (folders.length === 0) return null;
  return (
    <ul aria-label={t.foldersInIt} className="mt-2 max-h-72 overflow-y-auto rounded-lg border border-line">
      {folders.slice(0, SHOWN).map((folder) => (
        <li key={folder}>
          <button
            type="button"
            onClick={() => onChoose(folder)}
            className="flex min-h-8 thumb:min-h-11 w-full items-center gap-2 px-3 text-left font-mono text-[13px] text-ink-2 hover:bg-sunken"
          >
            <FolderClosed size={14} aria-hidden className="shrink-0 text-ink-3" />
            <span className="truncate">{folder}</span>
            {known.has(folder) && (
              <span className="ml-auto shrink-0 font-sans text-xs text-ink-3">{t.addedAlready}</span>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}

function useFoldersLike(path: string): readonly string[] {
  const typed = path.trim() || "~/";
  const { data } = useQuery({
    queryKey: ["folders", typed],
    queryFn: async () => (await given(api.GET("/workspaces/folders", { params: { query: { path: typed } } }))).folders,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return data ?? [];
}
