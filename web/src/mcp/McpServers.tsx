// The MCP servers: how each one is, tests, changes and removals, what removed ones have kept, and the form that adds one.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "../texts/mcp";
import { Button } from "../ui/Button";
import { attempt, say } from "../ui/outcomes";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import { AddServer } from "./AddServer";
import { ServerLine } from "./ServerLine";

export type Server = components["schemas"]["McpServerResponse"];

const SERVERS = ["mcp-servers"];
const FOLDERS = ["mcp-data-folders"];
const LOOK_EVERY = 1_000; // milliseconds

export function McpServers() {
  const queries = useQueryClient();
  const [signInPages, setSignInPages] = useState<Readonly<Record<string, string>>>({});
  const [added, setAdded] = useState<string | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [verdicts, setVerdicts] = useState<Readonly<Record<string, string>>>({});
  const { data: servers = [] } = useQuery({
    queryKey: SERVERS,
    queryFn: async () => (await given(api.GET("/mcp/servers"))).servers,
    refetchInterval: ({ state }) => (busy !== null || state.data?.some(isChanging) ? LOOK_EVERY : false),
  });
  const { data: folders = [] } = useQuery({
    queryKey: FOLDERS,
    queryFn: async () => (await given(api.GET("/mcp/data_folders"))).data_folders,
  });
  const again = () => Promise.all([SERVERS, FOLDERS].map((queryKey) => queries.invalidateQueries({ queryKey })));
  const at = (name: string) => ({ params: { path: { name } } });
  const test = async (name: string) => {
    setBusy(name);
    await attempt(
      given(api.POST("/mcp/servers/{name}/connect", at(name))).then((shown) =>
        setVerdicts((now) => ({ ...now, [name]: shown.status === "ready" ? t.works(offered(shown)) : "" })),
      ),
    );
    setBusy(null);
    await again();
  };
  const signIn = async (name: string) => {
    await attempt(
      given(api.POST("/mcp/servers/{name}/sign-in", at(name))).then(({ address }) => {
        // A browser opens no page that comes too long after the click: the link does the same.
        window.open(address, "_blank", "noopener,noreferrer");
        setSignInPages((pages) => ({ ...pages, [name]: address }));
        say(t.signInOpened(name));
      }),
    );
    await again();
  };
  const remove = async (name: string, withData: boolean) => {
    const params = { path: { name }, query: { with_data: withData } };
    if (await attempt(given(api.DELETE("/mcp/servers/{name}", { params })))) say(t.removed(name));
    await again();
  };
  const clean = async (name: string) => {
    if (await attempt(given(api.DELETE("/mcp/data_folders/{name}", at(name))))) say(t.cleaned(name));
    await again();
  };
  const change = async (name: string, body: object) => {
    await given(api.PATCH("/mcp/servers/{name}", { ...at(name), body: body as never }));
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
              isNew={added === server.name}
              signInPage={server.sign_in === "open" ? signInPages[server.name] : undefined}
              onTest={() => void test(server.name)}
              onSignIn={() => void signIn(server.name)}
              onRemove={(withData) => void remove(server.name, withData)}
              onClean={() => void clean(server.name)}
              verdict={verdicts[server.name]}
              onChange={(changes) => void attempt(change(server.name, changes))}
              onEdit={(changes) => change(server.name, changes).then(() => void test(server.name))}
            />
          ))}
        </ul>
      )}
      {folders.some(({ has_server }) => !has_server) && (
        <ul aria-label={t.leftData} className="space-y-1 text-sm text-ink-2">
          {folders
            .filter(({ has_server }) => !has_server)
            .map(({ name, bytes }) => (
              <li key={name} className="flex flex-wrap items-center gap-2">
                {t.leftBy(name, bytes)}
                <Button aria-label={t.cleanName(name)} onClick={() => void clean(name)}>
                  {t.clean}
                </Button>
              </li>
            ))}
        </ul>
      )}
      <AddServer
        onAdded={(name) => {
          setAdded(name);
          void again().then(() => test(name));
        }}
      />
    </div>
  );
}

/** Whether the server's state is about to change without anything that is done on this page. */
function isChanging(server: Server): boolean {
  return server.sign_in === "open" || server.status === "connecting";
}

function offered(server: Server): number {
  return server.tools.filter((tool) => tool.enabled).length;
}
