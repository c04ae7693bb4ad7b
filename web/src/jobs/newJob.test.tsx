import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { expectAccessible, ROLES, show } from "../testing/render";
import { api } from "../wire/client";
import NewJobDialog from "./NewJobDialog";

const TEMPLATE = {
  name: "note",
  description: "Write a note.",
  goal: "Write about {{topic}}",
  parameters: [{ name: "topic", type: "string", description: "what it is about", required: true }],
  steps: [{ id: "write", action: "Write about {{topic}}" }],
  source: "data",
};
const PLAN = { goal: "Tidy the attic", steps: [{ id: "a", action: "Open the window" }] };
const EARLIER = { job_id: "j1", request: "Tidy the attic", completed_at: null, plan: PLAN };
const FAULT = { source: "data", path: "templates/bad.toml", line: 3, reason: "'action' is missing" };

const posted = vi.fn<(path: string, options: { body?: unknown }) => { status?: number; body?: unknown }>();
let similar: unknown[];

beforeEach(() => {
  similar = [EARLIER];
  posted.mockReset().mockReturnValue({});
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => {
    const answers: Record<string, unknown> = {
      "/roles": { roles: ROLES },
      "/agents": { agents: [] },
      "/job-templates": { templates: [TEMPLATE], faults: [FAULT], similar },
    };
    return { data: answers[path], response: new Response() };
  }) as never);
  vi.spyOn(api, "POST").mockImplementation((async (path: string, options: { body?: unknown }) => {
    const { status = 202, body = {} } = posted(path, options);
    return { data: body, error: body, response: new Response(null, { status }) };
  }) as never);
});
afterEach(() => vi.restoreAllMocks());

function dialog() {
  const onStarted = vi.fn();
  const shown = show(<NewJobDialog chatId="chat" request="Tidy the cellar" onClose={vi.fn()} onStarted={onStarted} />);
  return { ...shown, onStarted };
}

const source = () => screen.findByLabelText("Where the plan comes from");
const start = () => userEvent.click(screen.getByRole("button", { name: "Start" }));

it("lets the planning agent plan unless something else is chosen, and shows files at fault", async () => {
  const { onStarted, container } = dialog();
  expect(await screen.findByText("templates/bad.toml, line 3: 'action' is missing")).toBeTruthy();
  await expectAccessible(container);
  await start();
  expect(posted.mock.calls[0]![1].body).toMatchObject({ request: "Tidy the cellar" });
  await waitFor(() => expect(onStarted).toHaveBeenCalledOnce());
});

it("makes a form of a template, sends its values, and shows each fault at its field", async () => {
  const { onStarted } = dialog();
  await screen.findByRole("option", { name: "note: Write a note." });
  await userEvent.selectOptions(await source(), "template:note");
  posted.mockReturnValueOnce({
    status: 422,
    body: {
      error: { code: "unfitting_parameters", message: "No." },
      faults: [{ param: "topic", message: "is missing" }],
    },
  });
  await start();
  await waitFor(() => expect(screen.getByLabelText(/topic/).getAttribute("aria-invalid")).toBe("true"));
  expect(onStarted).not.toHaveBeenCalled();
  await userEvent.type(screen.getByLabelText(/topic/), "tea");
  await start();
  const { body } = posted.mock.calls[1]![1];
  expect(body).toMatchObject({ template: { name: "note", parameters: { topic: "tea" } } });
  expect(body).not.toHaveProperty("request");
});

it("takes the plan of an earlier job for the new request, or forgets it", async () => {
  dialog();
  await screen.findByRole("option", { name: "Tidy the attic" });
  await userEvent.selectOptions(await source(), "earlier:j1");
  expect(screen.getByText("Open the window")).toBeTruthy();
  await start();
  expect(posted.mock.calls[0]![1].body).toMatchObject({ plan: { goal: "Tidy the cellar", steps: PLAN.steps } });
  similar = [];
  await userEvent.click(screen.getByRole("button", { name: "Do not offer this plan again" }));
  expect(posted.mock.calls[1]![0]).toBe("/jobs/{job_id}/forget");
  await waitFor(() => expect(screen.queryByRole("option", { name: "Tidy the attic" })).toBeNull());
});
