import { QueryClient } from "@tanstack/react-query";
import { expect, it, vi } from "vitest";
import { forbidden, onForbidden } from "../wire/forbidden";
import { followMe, ME } from "./me";

const answer = (status: number, schemaPath: string) =>
  forbidden.onResponse!({ response: new Response(null, { status }), schemaPath } as never);

it("reads who this is again after a refusal, and no more once it is left", async () => {
  const queries = new QueryClient();
  const fresh = () => queries.getQueryState(ME)?.isInvalidated;
  queries.setQueryData(ME, {});
  const leave = followMe(queries);
  for (const [status, path] of [
    [200, "/jobs"],
    [404, "/jobs"],
    [403, "/session"],
  ] as const)
    await answer(status, path);
  expect(fresh()).toBe(false);
  await answer(403, "/jobs/{job_id}/pause");
  expect(fresh()).toBe(true);
  leave();
  queries.setQueryData(ME, {});
  await answer(403, "/jobs/{job_id}/pause");
  expect(fresh()).toBe(false);
});

it("tells each listener of a refusal", async () => {
  const heard = [vi.fn(), vi.fn()];
  const leaves = heard.map(onForbidden);
  await answer(403, "/rules");
  for (const one of heard) expect(one).toHaveBeenCalledOnce();
  for (const leave of leaves) leave();
});
