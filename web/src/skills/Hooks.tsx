// Hooks: the commands that look at an agent's calls, what each came to last, and whether those of the folder are trusted.

import clsx from "clsx";
import { visible } from "../content/visible";
import { t } from "../texts/skills";
import { Trust } from "../workflows/Trust";
import { type Hook, type HookFile, useFolder, useHooks } from "./queries";

export function Hooks() {
  const { root } = useFolder();
  const { data: files } = useHooks(root);
  if (files?.length === 0)
    return (
      <p className="rounded-2xl border border-dashed border-line-strong px-4 py-3 text-sm text-ink-2">
        {t.noHooks} <code className="font-mono text-[13px] break-all">{t.hooksFile}</code> {t.noHooksElse}
      </p>
    );
  return (
    <div className="space-y-4">
      {files?.map((file) => (
        <File key={file.path} file={file} workspace={root} />
      ))}
    </div>
  );
}

function File({ file, workspace }: { file: HookFile; workspace: string | undefined }) {
  return (
    <div className="overflow-hidden rounded-2xl border border-line bg-surface text-sm">
      <div className="px-4 py-3.5">
        {file.source === "workspace" && workspace ? (
          <Trust workspace={workspace} file={{ ...file, kind: "hooks" }} />
        ) : (
          <p>
            <code className="font-mono text-[13px] break-all">{file.path}</code>{" "}
            <span className="text-ink-3">
              {file.source === "plugin" ? t.hooksOfPlugin(file.trusted) : t.ofDataFolder}
            </span>
          </p>
        )}
        {file.problems.length > 0 && (
          <ul aria-label={t.wrongWith(file.path)} className="mt-1 space-y-1 text-warn">
            {file.problems.map((problem) => (
              <li key={problem} lang="en" className="break-words">
                {problem}
              </li>
            ))}
          </ul>
        )}
      </div>
      {file.hooks.length > 0 && (
        <ul aria-label={t.hooksOf(file.path)} className="divide-y divide-line border-t border-line">
          {file.hooks.map((hook) => (
            <Line key={`${hook.event}:${hook.matcher}:${hook.command}`} hook={hook} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Line({ hook: { event, matcher, command, last } }: { hook: Hook }) {
  const tools = matcher === "" || matcher === "*" ? t.everyTool : matcher.split("|").map(visible).join(", ");
  return (
    <li className="px-4 py-3">
      <p>{t.events[event](tools)}</p>
      <code className="my-1 block font-mono text-[13px] break-all text-ink-2">{visible(command)}</code>
      <p className={clsx("break-words", last?.failed || last?.decision === "deny" ? "text-warn" : "text-ink-3")}>
        {last ? t.outcome(last.decision, visible(last.failed || last.reason), last.failed !== "") : t.notRunYet}
      </p>
    </li>
  );
}
