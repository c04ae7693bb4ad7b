// The MCP servers: how each one is, a test with one click, its tools with their switches, and its log.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { Check, CircleAlert, Minus, Trash2 } from "lucide-react";
import { useState } from "react";
import { t } from "../texts/mcp";
import { Button, IconButton } from "../ui/Button";
import { attempt, say } from "../ui/toasts";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { AddServer } from "./AddServer";
import { ServerTools, Switch, type ToolChanges } from "./ServerTools";

export type Server = components["schemas"]["McpServerShape"];

const SERVERS = ["mcp-servers"];

export function McpServers() {
  const queries = useQueryClient();
  const { data: servers = [] } = useQuery({
    queryKey: SERVERS,
    queryFn: async () => (await given(api.GET("/mcp/servers"))).servers,
    refetchInterval: ({ state }) => (state.data?.some(isChanging) ? 1_000 : false),
  });
  const [signInPages, setSignInPages] = useState<Readonly<Record<string, string>>>({});
  const [busy, setBusy] = useState<string | null>(null);
  const again = () => queries.invalidateQueries({ queryKey: SERVERS });
  const test = async (name: string) => {
    setBusy(name);
    await attempt(
      given(api.POST("/mcp/servers/{name}/connect", { params: { path: { name } } })).then((shown) =>
        say(shown.status === "ready" ? t.works(name, offered(shown)) : t.fails(name, shown.error ?? "")),
      ),
    );
    setBusy(null);
    await again();
  };
  const signIn = async (name: string) => {
    await attempt(
      given(api.POST("/mcp/servers/{name}/sign-in", { params: { path: { name } } })).then(({ address }) => {
        // A browser opens no page that comes too long after the click: the link does the same.
        window.open(address, "_blank", "noopener,noreferrer");
        setSignInPages((pages) => ({ ...pages, [name]: address }));
        say(t.signInOpened(name));
      }),
    );
    await again();
  };
  const remove = async (name: string) => {
    if (await attempt(given(api.DELETE("/mcp/servers/{name}", { params: { path: { name } } })))) say(t.removed(name));
    await again();
  };
  const change = async (name: string, body: ToolChanges) => {
    await attempt(given(api.PATCH("/mcp/servers/{name}", { params: { path: { name } }, body })));
    await again();
  };
  return (
    <div className="space-y-4">
      {servers.length === 0 ? (
        <p className="rounded-2xl border border-dashed border-line-strong px-4 py-3 text-sm text-ink-2">{t.none}</p>
      ) : (
        <ul
          aria-label={t.servers}
          className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface"
        >
          {servers.map((server) => (
            <ServerLine
              key={server.name}
              server={server}
              busy={busy === server.name}
              signInPage={server.sign_in === "open" ? signInPages[server.name] : undefined}
              onTest={() => void test(server.name)}
              onSignIn={() => void signIn(server.name)}
              onRemove={() => void remove(server.name)}
              onChange={(changes) => void change(server.name, changes)}
            />
          ))}
        </ul>
      )}
      <AddServer onAdded={(name) => void again().then(() => test(name))} />
    </div>
  );
}

interface Props {
  server: Server;
  busy: boolean;
  signInPage: string | undefined;
  onTest: () => void;
  onSignIn: () => void;
  onRemove: () => void;
  onChange: (changes: ToolChanges) => void;
}

function ServerLine({ server, busy, signInPage, onTest, onSignIn, onRemove, onChange }: Props) {
  return (
    <li className="space-y-2 px-4 py-3.5 text-sm">
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
          <IconButton label={t.remove(server.name)} onClick={onRemove} className="hover:!text-bad">
            <Trash2 size={15} aria-hidden />
          </IconButton>
        )}
      </div>
      <p className="font-mono text-xs break-all text-ink-3">
        {server.url ?? server.module ?? [server.command, ...server.args].join(" ")}
      </p>
      {server.error && (
        <p lang="en" className="break-words text-warn first-letter:uppercase">
          {server.error}
        </p>
      )}
      {signInPage && (
        <p>
          <a href={signInPage} target="_blank" rel="noopener noreferrer" className="underline">
            {t.signInPage(server.name)}
          </a>
        </p>
      )}
      <Lines label={t.problems(server.name)} lines={server.problems} />
      {server.tools.length > 0 && <ServerTools server={server} onChange={onChange} />}
      <div>
        <Switch
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
    </li>
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

/** Whether the server's state is about to change without anything that is done on this page. */
function isChanging(server: Server): boolean {
  return server.sign_in === "open" || server.status === "connecting";
}

function offered(server: Server): number {
  return server.tools.filter((tool) => tool.enabled).length;
}
