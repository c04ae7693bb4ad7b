// A file that came with the folder and steers agents: read it, then trust exactly what was read. A change asks again.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { Handshake } from "lucide-react";
import { useState } from "react";
import { Output } from "../content/Output";
import * as acts from "../state/acts";
import { t } from "../texts/workflows";
import { Button } from "../ui/Button";
import { Fold } from "../ui/Fold";
import { api, given, Refusal } from "../wire/client";
import type { Supplied } from "../wire/nouns";

interface Props {
  workspace: string;
  file: Pick<Supplied, "path" | "sha256" | "trusted"> & { kind?: Supplied["kind"] | "hooks" };
  /** In the selector it is read at once. */
  initiallyOpen?: boolean;
  /** The chat it is said in: then its history tells of it. */
  chatId?: string;
}

export function Trust({ workspace, file, initiallyOpen = false, chatId }: Props) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const say = async (sha256: string | null) => {
    setBusy(true);
    setProblem(null);
    try {
      await acts.trust(workspace, file.path, sha256, chatId);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setProblem(error.message);
    } finally {
      const told = ["workflows", "workspaces", "supplied", "instructions", "hooks"].map((key) => ({ queryKey: [key] }));
      await Promise.all(told.map((each) => queries.cancelQueries(each))); // what was asked before is no answer to what holds now
      await Promise.all(told.map((each) => queries.invalidateQueries(each)));
      setBusy(false);
    }
  };
  return (
    <div className="text-sm">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Handshake size={16} aria-hidden className={clsx("shrink-0", file.trusted ? "text-good" : "text-warn")} />
        <code title={`SHA-256 ${file.sha256}`} className="min-w-0 font-mono text-[13px] break-all">
          {file.path}
        </code>
        <span className={file.trusted ? "text-good" : "text-warn"}>
          {file.trusted ? t.trusted : t.notTrustedItIsNot}
        </span>
      </p>
      <Fold className="-ml-1.5" initiallyOpen={initiallyOpen} summary={t.look}>
        {() => <Look workspace={workspace} file={file} />}
      </Fold>
      {problem && (
        <p role="alert" className="mb-2 break-words text-bad">
          {problem}
        </p>
      )}
      {file.trusted ? (
        <Button needs="POST /workspaces" look="quiet" className="-ml-3" disabled={busy} onClick={() => void say(null)}>
          {t.trustItNoLonger}
        </Button>
      ) : (
        <Button
          needs="POST /workspaces"
          disabled={busy}
          icon={<Handshake size={15} aria-hidden />}
          onClick={() => void say(file.sha256)}
        >
          {t.trustThisContent}
        </Button>
      )}
    </div>
  );
}

/** What is shown is what would be trusted, or nothing is shown. */
function Look({ workspace, file: { path, sha256, kind } }: Pick<Props, "workspace" | "file">) {
  const read = READERS[kind ?? "workflow"];
  const { data, isPending } = useQuery({
    queryKey: ["supplied", workspace, path, sha256],
    queryFn: () => read(workspace, path, sha256),
  });
  if (isPending) return <p className="py-1 text-ink-3">{t.reading}</p>;
  if (data == null)
    return (
      <p className="py-1 break-words text-ink-2">
        {t.thisPageCannotShowIt}{" "}
        <code className="font-mono text-[13px] break-all">
          {workspace}/{path}
        </code>{" "}
        {t.beforeYouTrustIt}
      </p>
    );
  return <Output text={data} label={t.contentOf(path)} />;
}

/** Null where the server gives the text of another content or another file of that name. */
async function contentOf(workspace: string, path: string, sha256: string): Promise<string | null> {
  const query = { workspace };
  const { workflows } = await given(api.GET("/workflows", { params: { query } }));
  const meant = workflows.find((each) => each.source === "workspace" && each.path === path);
  if (!meant) return null;
  const page = await given(api.GET("/workflows/{name}", { params: { path: { name: meant.name }, query } }));
  return page.source === "workspace" && page.path === path && page.sha256 === sha256 ? page.content : null;
}

async function hooksOf(workspace: string, path: string, sha256: string): Promise<string | null> {
  const { files } = await given(api.GET("/hooks", { params: { query: { workspace } } }));
  return files.find((file) => file.path === path && file.sha256 === sha256)?.content ?? null;
}

async function instructionsOf(workspace: string, path: string, sha256: string): Promise<string | null> {
  const { instructions } = await given(api.GET("/instructions", { params: { query: { workspace } } }));
  return instructions?.path === path && instructions.sha256 === sha256 ? instructions.content : null;
}

const READERS = { workflow: contentOf, instructions: instructionsOf, hooks: hooksOf };
