// One server of the list: how it is, what is wrong and what helps, what it sees and keeps, its tools and its log.

import clsx from "clsx";
import { Check, CircleAlert, Minus, Pencil, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { t } from "../texts/mcp";
import { Button, IconButton } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Checkbox } from "../ui/Field";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import type { Server } from "./McpServers";
import { ServerForm } from "./ServerForm";
import { ServerTools } from "./ServerTools";
import { changesOf, typedOf } from "./serverBody";

interface Props {
  server: Server;
  busy: boolean;
  /** It was just added by the form below the list: what comes of it must be seen. */
  isNew: boolean;
  signInPage: string | undefined;
  onTest: () => void;
  onSignIn: () => void;
  onRemove: (withData: boolean) => void;
  onClean: () => void;
  /** How its last test went, while this page is open. */
  verdict: string | undefined;
  onChange: (changes: object) => void;
  /** The server starts anew with the changes. Throws what is refused of them. */
  onEdit: (changes: object) => Promise<unknown>;
}

export function ServerLine({
  server,
  busy,
  isNew,
  verdict,
  signInPage,
  onTest,
  onSignIn,
  onRemove,
  onClean,
  ...props
}: Props) {
  const { onChange, onEdit } = props;
  const [asked, setAsked] = useState<"edit" | "remove" | "clean" | null>(null);
  const line = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isNew) line.current?.scrollIntoView?.({ block: "center" });
  }, [isNew, busy]);
  const starts = busy || server.status === "connecting";
  return (
    <li ref={line} className="space-y-2 px-4 py-3.5 text-sm">
      <Outcomes />
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium break-all">{server.name}</span>
        <StatusMark status={server.status} />
        <span className="ml-auto" />
        {(server.sign_in === "needed" || server.sign_in === "open") && (
          <Button look="primary" aria-label={t.signInName(server.name)} onClick={onSignIn}>
            {t.signIn}
          </Button>
        )}
        <Button aria-label={t.testName(server.name)} aria-disabled={busy} onClick={() => !busy && onTest()}>
          {busy ? t.testing : t.test}
        </Button>
        {!server.module && (
          <>
            <IconButton label={t.edit(server.name)} onClick={() => setAsked("edit")}>
              <Pencil size={15} aria-hidden />
            </IconButton>
            <IconButton label={t.remove(server.name)} onClick={() => setAsked("remove")} className="hover:!text-bad">
              <Trash2 size={15} aria-hidden />
            </IconButton>
          </>
        )}
      </div>
      <p className="font-mono text-xs break-all text-ink-3">
        {server.url ?? server.module ?? [server.command, ...server.args].join(" ")}
      </p>
      {verdict && !starts && (
        <p role="status" className="text-good">
          {verdict}
        </p>
      )}
      {server.error && (
        <p lang="en" className="break-words text-warn first-letter:uppercase">
          {server.error}
        </p>
      )}
      {server.refused_hosts.map((host) => (
        <p key={host} className="flex flex-wrap items-center gap-2 text-ink-2">
          <span className="break-all">{t.refusedHost(host)}</span>
          <Button onClick={() => void attempt(onEdit({ network: [...server.network, host] }))}>
            {t.allowHost(host)}
          </Button>
        </p>
      ))}
      {signInPage && (
        <p>
          <a href={signInPage} target="_blank" rel="noopener noreferrer" className="underline">
            {t.signInPage(server.name)}
          </a>
        </p>
      )}
      <Lines label={t.problems(server.name)} lines={server.problems} />
      {starts && server.log.length > 0 && (
        <pre
          aria-label={t.starting(server.name)}
          className="max-h-40 overflow-auto rounded-lg bg-sunken p-2 text-xs whitespace-pre-wrap"
        >
          {server.log.slice(-8).join("\n")}
        </pre>
      )}
      {server.command && (
        <p className="flex flex-wrap items-center gap-2 text-xs text-ink-2">
          <span>{t.accessShort[server.workspace_access]}</span>
          {(server.data_folder || server.data_bytes !== 0) && (
            <>
              <span>{t.keeps(server.data_bytes)}</span>
              {server.data_bytes !== 0 && (
                <Button aria-label={t.cleanName(server.name)} onClick={() => setAsked("clean")}>
                  {t.clean}
                </Button>
              )}
            </>
          )}
        </p>
      )}
      {server.tools.length > 0 && <ServerTools server={server} onChange={onChange} />}
      <div>
        <Checkbox
          label={t.sampling}
          name={t.samplingOf(server.name)}
          on={server.sampling}
          onTurn={(on) => onChange({ sampling: on })}
        />
        <p className="text-xs text-ink-3">{t.samplingHint}</p>
      </div>
      <details>
        <summary className="cursor-pointer text-ink-2 thumb:py-2.5">{t.logOf(server.name)}</summary>
        <pre className="mt-1 max-h-60 overflow-auto rounded-lg bg-sunken p-2 text-xs whitespace-pre-wrap">
          {server.log.join("\n") || t.emptyLog}
        </pre>
      </details>
      {asked === "edit" && (
        <Dialog title={t.edit(server.name)} open wide onClose={() => setAsked(null)}>
          <ServerForm
            label={t.edit(server.name)}
            submit={t.save}
            start={typedOf(server)}
            stored={server.command ? server.env : server.headers}
            onSubmit={(typed) => onEdit(changesOf(typed)).then(() => setAsked(null))}
            onCancel={() => setAsked(null)}
          />
        </Dialog>
      )}
      {asked === "remove" && <RemoveDialog server={server} onClose={() => setAsked(null)} onRemove={onRemove} />}
      {asked === "clean" && (
        <Dialog title={t.cleanTitle(server.name)} open onClose={() => setAsked(null)}>
          <p className="text-sm text-ink-2">{t.cleanWords(server.data_bytes)}</p>
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={() => setAsked(null)}>{t.cancel}</Button>
            <Button
              look="danger"
              onClick={() => {
                setAsked(null);
                onClean();
              }}
            >
              {t.clean}
            </Button>
          </div>
        </Dialog>
      )}
    </li>
  );
}

function RemoveDialog(props: { server: Server; onClose: () => void; onRemove: (withData: boolean) => void }) {
  const { server, onClose, onRemove } = props;
  const [withData, setWithData] = useState(false);
  return (
    <Dialog title={t.removeTitle(server.name)} open onClose={onClose}>
      <p className="text-sm text-ink-2">{t.removeWords}</p>
      {server.data_bytes !== 0 && (
        <Checkbox label={t.deleteData(server.data_bytes)} on={withData} onTurn={setWithData} />
      )}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>{t.cancel}</Button>
        <Button
          look="danger"
          onClick={() => {
            onClose();
            onRemove(withData);
          }}
        >
          {t.confirmRemove}
        </Button>
      </div>
    </Dialog>
  );
}

function Lines({ label, lines }: { label: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <ul aria-label={label} className="list-disc space-y-1 pl-5 text-ink-2">
      {lines.map((line) => (
        <li key={line} lang="en" className="break-words">
          {line}
        </li>
      ))}
    </ul>
  );
}

function StatusMark({ status }: { status: Server["status"] }) {
  const Icon = status === "ready" ? Check : status === "failed" ? CircleAlert : Minus;
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium",
        status === "ready"
          ? "bg-good-soft text-good"
          : status === "failed"
            ? "bg-warn-soft text-warn"
            : "bg-sunken text-ink-2",
      )}
    >
      <Icon size={12} aria-hidden />
      {t.status[status] ?? status}
    </span>
  );
}
