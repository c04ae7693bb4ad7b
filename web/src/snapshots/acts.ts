// Checkpoints over REST: listed, shown, tried and gone back to.
import { useInfiniteQuery } from "@tanstack/react-query";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type Restored = components["schemas"]["RestoredResponse"];

/** In the order they were taken; the newest first to be read. */
export function useSnapshots(chatId: string, open: boolean, moment: number) {
  const query = useInfiniteQuery({
    queryKey: ["snapshots", chatId, moment],
    queryFn: ({ pageParam }) =>
      given(
        api.GET("/context/{chat_id}/snapshots", {
          params: { path: { chat_id: chatId }, query: { limit: 200, before: pageParam } },
        }),
      ),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => (next === null ? null : Number(next)),
    enabled: open,
    placeholderData: (before) => before,
  });
  return { ...query, snapshots: (query.data?.pages ?? []).toReversed().flatMap((page) => page.snapshots) };
}

export async function differenceOf(chatId: string, snapshotId: string): Promise<string> {
  const params = { path: { chat_id: chatId, snapshot_id: snapshotId } };
  return (await given(api.GET("/context/{chat_id}/snapshots/{snapshot_id}/diff", { params }))).diff ?? "";
}

export async function restore(
  chatId: string,
  snapshotId: string,
  wish: { dry_run?: boolean; overwrite?: string[]; paths?: string[] },
): Promise<Restored> {
  const params = { path: { chat_id: chatId, snapshot_id: snapshotId } };
  return given(api.POST("/context/{chat_id}/snapshots/{snapshot_id}/restore", { params, body: wish as never }));
}
