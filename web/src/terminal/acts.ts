// The person's own commands over REST.
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive } from "../state/live";
import { withEarlierOutput } from "../state/reduce";
import { api, given } from "../wire/client";

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
