import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { Workers } from "./Workers";

const JOINED = {
  id: "w1",
  host: "builder",
  labels: ["gpu"],
  level: "full",
  processor: "x86_64",
  tasks: ["a", "b"],
  cache_bytes: 2_000_000,
  since: "2026-11-01T10:00:00Z",
  pid: null,
  version: "0.1.0",
  joined_at: "2026-11-01T10:00:00Z",
  jobs: [],
  refused: [],
};
const REFUSED = {
  ...JOINED,
  id: "w2",
  host: "bare",
  tasks: [],
  refused: [{ job_id: "", reason: "It has no sandbox." }],
};

afterEach(() => vi.restoreAllMocks());

function serve(workers: object[]) {
  vi.spyOn(api, "GET").mockImplementation((async () => ({ data: { workers }, response: new Response() })) as never);
  const posted = vi.spyOn(api, "POST").mockImplementation((async () => ({
    data: { token: "ac-join-x", expires_at: "2026-11-01T11:00:00Z" },
    response: new Response(null, { status: 201 }),
  })) as never);
  const deleted = vi
    .spyOn(api, "DELETE")
    .mockImplementation((async () => ({ response: new Response(null, { status: 204 }) })) as never);
  return { posted, deleted };
}

it("lists workers with their load and why one gets no task, and removes one", async () => {
  const { deleted } = serve([JOINED, REFUSED]);
  const { container } = show(<Workers />);
  expect(await screen.findByText(/^2 tasks · gpu · x86_64 · .* cached · since /)).toBeTruthy();
  expect(screen.getByText("Gets no tasks: It has no sandbox.")).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Remove the worker on builder" }));
  expect(deleted.mock.lastCall?.[1]).toMatchObject({ params: { path: { worker_id: "w1" } } });
});

it("invites one, and shows the command to copy once", async () => {
  const { posted } = serve([]);
  const { container } = show(<Workers />);
  expect(await screen.findByText(/^No workers yet/)).toBeTruthy();
  await userEvent.type(screen.getByLabelText("Labels that it may offer"), "gpu, node20");
  await userEvent.click(screen.getByRole("button", { name: "Invite worker" }));
  expect(posted.mock.lastCall?.[1]).toMatchObject({ body: { labels: ["gpu", "node20"] } });
  expect((await screen.findByLabelText("The command for the new worker")).textContent).toBe(
    `anycowork worker --join ${window.location.origin} --token ac-join-x --labels gpu,node20`,
  );
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(screen.queryByLabelText("The command for the new worker")).toBeNull();
});
