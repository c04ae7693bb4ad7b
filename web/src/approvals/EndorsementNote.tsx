// What the agent had read that nobody vouched for, what it said, and where the call goes with it.

import { useQueryClient } from "@tanstack/react-query";
import { Milestone } from "lucide-react";
import { visible } from "../content/visible";
import { originWords } from "../rules/words";
import { changeWorkspace } from "../state/acts";
import { useWorkspaces } from "../state/queries";
import { t } from "../texts/approvals";
import { Button } from "../ui/Button";
import { attempt } from "../ui/outcomes";
import type { Approval } from "../wire/nouns";

type Endorsement = NonNullable<Approval["endorsement"]>;

interface Props {
  endorsement: Endorsement;
  /** The chat's folder, for which the person may vouch here. */
  workspace?: string | null;
}

export function EndorsementNote({ endorsement, workspace }: Props) {
  return (
    <section aria-label={t.whereItCameFrom} className="mt-1 flex items-start gap-1.5 text-sm">
      <Milestone size={16} aria-hidden className="mt-0.5 shrink-0 text-warn" />
      <div className="min-w-0">
        <p>{t.agentHasRead(endorsement.origins.map(originWords).join(", "))}</p>
        {endorsement.passage && (
          <blockquote className="my-1 max-h-40 overflow-y-auto border-l-2 border-line-strong pl-2.5 break-words whitespace-pre-wrap text-ink-2">
            {endorsement.passage}
          </blockquote>
        )}
        <p>{t.callGoesTo(endorsement.sinks.map(({ kind, subject }) => t.sinks[kind](visible(subject))).join(", "))}</p>
        {workspace && endorsement.origins.includes("workspace") && <FolderVoucher root={workspace} />}
      </div>
    </section>
  );
}

/** Lets the person vouch for all that lies in the folder; the call itself still waits for its answer. */
function FolderVoucher({ root }: { root: string }) {
  const { data: workspaces = [] } = useWorkspaces();
  const queries = useQueryClient();
  const folder = workspaces.find((known) => known.root === root);
  if (!folder?.id) return null;
  if (folder.trusts_contents) return <p role="status">{t.folderIsVouchedFor}</p>;
  const { id } = folder;
  const vouch = async () => {
    if (await attempt(changeWorkspace(id, { trusts_contents: true })))
      await queries.invalidateQueries({ queryKey: ["workspaces"] });
  };
  return (
    <Button
      needs="PATCH /workspaces/{workspace_id}"
      className="mt-1"
      title={visible(root)}
      onClick={() => void vouch()}
    >
      {t.vouchForTheFolder}
    </Button>
  );
}
