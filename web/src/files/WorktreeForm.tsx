// The name of a new branch, for a worktree beside a workspace.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/git";
import { Button } from "../ui/Button";
import { VERBATIM } from "../ui/Field";
import { useRefusal } from "../ui/refusal";
import { createWorktree } from "./gitActs";

interface Props {
  where: { workspace?: string; context_id?: string };
  onMade: (root: string) => Promise<void> | void;
}

export function WorktreeForm({ where, onMade }: Props) {
  const [branch, setBranch] = useState("");
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const [attempt, refusal] = useRefusal();
  const submit = async () => {
    setBusy(true);
    await attempt(
      createWorktree(branch.trim(), where).then(async (root) => {
        await queries.invalidateQueries({ queryKey: ["workspaces"] });
        await onMade(root);
      }),
    );
    setBusy(false);
  };
  return (
    <form
      className="space-y-3 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy && branch.trim()) void submit();
      }}
    >
      <p className="text-ink-2">{t.aboutWorktrees}</p>
      <div className="flex flex-wrap gap-2">
        <input
          aria-label={t.branchName}
          placeholder={t.branchName}
          {...VERBATIM}
          value={branch}
          onChange={({ target }) => setBranch(target.value)}
          className="min-h-9 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3 text-sm thumb:min-h-11"
        />
        <Button type="submit" look="primary" disabled={busy || !branch.trim()}>
          {t.createWorktree}
        </Button>
      </div>
      {refusal}
    </form>
  );
}
