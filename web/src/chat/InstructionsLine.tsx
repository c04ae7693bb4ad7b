// The folder's own instructions for agents: a calm line while they are not used, and a place to read them before they are trusted.

import { ScrollText } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { useInstructions } from "../state/queries";
import { t } from "../texts/chat";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import type { Instructions } from "../wire/nouns";

const Trust = lazy(() => import("../workflows/Trust").then(({ Trust }) => ({ default: Trust })));
const MOST_PUT_OFF = 50;

interface Props {
  chatId: string;
  workspace: string;
  idle: boolean;
  /** Moves on whenever something happened in the chat. */
  moment: number;
}

export function InstructionsLine({ chatId, workspace, idle, moment }: Props) {
  const { data: found } = useInstructions(chatId, idle, moment);
  const later = (usePreference("later") ?? "").split(" ");
  const [read, setRead] = useState<string | null>(null); // the content that is looked at: another one does not open by itself
  if (!found || found.state === "trusted" || later.includes(keyOf(workspace, found))) return null;
  const putOff = () => setPreference("later", [keyOf(workspace, found), ...later].slice(0, MOST_PUT_OFF).join(" "));
  return (
    <div
      role="note"
      className="mb-2 flex flex-wrap items-center gap-x-2 gap-y-1 rounded-xl border border-dashed border-line-strong px-4 py-1.5 text-sm text-ink-2"
    >
      <ScrollText size={15} aria-hidden className="shrink-0 text-ink-3" />
      <span className="min-w-0 flex-1 basis-52 break-words">{words(found)}</span>
      {found.sha256 && (
        <Button needs="POST /workspaces" onClick={() => setRead(found.sha256)}>
          {t.readAndTrust}
        </Button>
      )}
      <Button look="quiet" onClick={putOff}>
        {t.notNow}
      </Button>
      {found.sha256 && found.sha256 === read && (
        <Dialog title={found.path} open onClose={() => setRead(null)} wide>
          <p className="mb-3 text-sm text-ink-2">{t.thisFileCameWithThe}</p>
          <Suspense fallback={null}>
            <Trust
              workspace={workspace}
              file={{ kind: "instructions", path: found.path, sha256: found.sha256, trusted: false }}
              initiallyOpen
              chatId={chatId}
            />
          </Suspense>
        </Dialog>
      )}
    </div>
  );
}

function words({ path, state, fault }: Instructions): string {
  if (state === "unreadable") return t.theInstructionsOfThisFolder(path, fault ?? "");
  if (state === "changed") return t.theInstructionsOfThisFolder2(path);
  return t.thisFolderHasInstructionsFor(path);
}

/** Asked again when the content is another one. */
function keyOf(workspace: string, { sha256, fault }: Instructions): string {
  return (sha256 ?? `${workspace}:${fault}`).replaceAll(" ", "_");
}
