// The person's own commands over REST.
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive } from "../state/live";
import { withEarlierOutput } from "../state/reduce";
import { api, given } from "../wire/client";
import { pageKeyHeaders } from "../wire/session";

const at = (chat_id: string) => ({ path: { chat_id } });

/** Whether the person may run commands here, and which run. Read again with each news of the chat. */
export function useCommandsOffer(chatId: string, moment: number) {
  const { data } = useQuery({
    queryKey: ["person-commands", chatId, moment],
    queryFn: () => given(api.GET("/context/{chat_id}/person-commands", { params: at(chatId) })),
    placeholderData: (before) => before,
    retry: false,
  });
  useEffect(() => {
    for (const { id, output } of data?.running ?? [])
      useLive.setState(({ view }) => ({ view: view?.id === chatId ? withEarlierOutput(view, id, output) : view }));
  }, [chatId, data]);
  return data ?? null;
}

export async function runCommand(chatId: string, command: string): Promise<void> {
  await given(api.POST("/context/{chat_id}/person-commands", { params: at(chatId), body: { command } }));
}

export async function stopCommand(chatId: string, commandId: string): Promise<void> {
  const params = { path: { chat_id: chatId, command_id: commandId } };
  await given(api.POST("/context/{chat_id}/person-commands/{command_id}/stop", { params }));
}

export async function openTerminalShell(chatId: string): Promise<string> {
  const body = { rows: 24, columns: 80 }; // what is drawn tells the size
  return (await given(api.POST("/context/{chat_id}/terminals", { params: { path: { chat_id: chatId } }, body }))).id;
}

const terminalAt = (chat_id: string, terminal_id: string) => ({ path: { chat_id, terminal_id } });

export function typeInTerminal(chatId: string, id: string, text: string) {
  const params = terminalAt(chatId, id);
  return given(api.POST("/context/{chat_id}/terminals/{terminal_id}/input", { params, body: { text } }));
}

export function resizeTerminal(chatId: string, id: string, rows: number, columns: number) {
  const params = terminalAt(chatId, id);
  return given(api.PUT("/context/{chat_id}/terminals/{terminal_id}/size", { params, body: { rows, columns } }));
}

/** Reads what the terminal prints, until it ends. Waits for each piece to be drawn, so that a flood waits for the screen.
 * False if the server has no such terminal. */
export async function readTerminal(
  chatId: string,
  id: string,
  signal: AbortSignal,
  draw: (piece: Uint8Array, isReplay: boolean) => Promise<void>,
): Promise<boolean> {
  const path = `/context/${encodeURIComponent(chatId)}/terminals/${encodeURIComponent(id)}/output`;
  const answer = await fetch(path, {
    headers: pageKeyHeaders(),
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!answer.ok || !answer.body) return false;
  let replayed = Number(answer.headers.get("x-anycowork-replay") ?? 0);
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    const isReplay = replayed > 0;
    replayed -= value.length;
    await draw(value, isReplay);
  }
}
