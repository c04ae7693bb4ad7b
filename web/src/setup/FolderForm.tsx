// Registers a folder that agents may work in.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import * as acts from "../state/acts";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { Refusal } from "../wire/client";

export function FolderForm({ onAdded }: { onAdded: (root: string) => void }) {
  const queries = useQueryClient();
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
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
      <p className="mb-3 text-sm text-ink-2">{t.agentsReadAndChangeFiles}</p>
      <div className="flex gap-2">
        <input
          aria-label={t.folder2}
          aria-invalid={problem !== null}
          placeholder="/home/me/project"
          value={path}
          onChange={({ target }) => setPath(target.value)}
          className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-paper px-3 font-mono text-sm"
        />
        <Button look="primary" type="submit" disabled={!path.trim()}>
          {t.add}
        </Button>
      </div>
      {problem && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {problem}
        </p>
      )}
    </form>
  );
}
