import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { Schedules } from "./Schedules";
import { bodyOf, draftOf, outcomeOf, type Schedule, type Start, type Startee, type Trigger } from "./startables";
import { Triggers } from "./Triggers";

const PARAMETER = { name: "path", type: "path", description: "the code", required: true } as Startee["parameters"][0];
const STARTEES: Startee[] = [
  { key: "workflow:explain_code", name: "explain_code", parameters: [PARAMETER] },
  { key: "template:add-tests", name: "add-tests", parameters: [] },
];
const START = {
  key: "k",
  due_at: "2026-11-19T09:00:00Z",
  status: "started",
  context_id: "c1",
  job_id: null,
  outcome: "answered",
  error: null,
} as Start;
const COMMON = {
  id: "s1",
  template: null,
  workflow: "explain_code",
  parameters: { path: "src" },
  context_id: null,
  workspace: "/w",
  role: "planner",
  limits: { tokens: 9, cost: 0.5 },
  enabled: true,
  paused: null,
  starts: [START],
};
const SCHEDULE = {
  ...COMMON,
  name: "Morning",
  cron: "0 9 * * *",
  at: null,
  time_zone: "Europe/Berlin",
  missed: "skip",
  next_at: "2026-11-20T08:00:00Z",
} as unknown as Schedule;
const TRIGGER = { ...COMMON, name: "Push", parameters: {}, payload: { path: "/file" } } as unknown as Trigger;

afterEach(() => vi.restoreAllMocks());

function serve(lists: { schedules?: object[]; triggers?: object[] }) {
  const answers: Record<string, object> = {
    "/schedules": { schedules: lists.schedules ?? [] },
    "/triggers": { triggers: lists.triggers ?? [] },
    "/workflows": { workflows: [{ name: "explain_code", trusted: true, parameters: [PARAMETER] }], faults: [] },
    "/job-templates": { templates: [{ name: "add-tests", parameters: [] }], faults: [], similar: [] },
    "/roles": { roles: [] },
  };
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => ({
    data: answers[path] ?? {},
    response: new Response(),
  })) as never);
  const answer = (data: object) => (async () => ({ data, response: new Response() })) as never;
  return {
    posted: vi.spyOn(api, "POST").mockImplementation(answer({ id: "s1", secret: "whsec_x" })),
    patched: vi.spyOn(api, "PATCH").mockImplementation(answer({})),
    deleted: vi.spyOn(api, "DELETE").mockImplementation(answer({})),
  };
}

it("lists schedules with their next time and how the last run ended, and runs, disables and deletes one", async () => {
  const { posted, patched, deleted } = serve({ schedules: [SCHEDULE] });
  const { container } = show(<Schedules />);
  const row = within(await screen.findByRole("listitem", { name: "Morning" }));
  expect(row.getByText(/^explain_code · At 09:00, every day \(0 9 \* \* \*\) Europe\/Berlin · next /)).toBeTruthy();
  expect(row.getByRole("link", { name: "answered" }).getAttribute("href")).toBe("#/chat/c1");
  await expectAccessible(container);
  await userEvent.click(row.getByRole("button", { name: "Run Morning now" }));
  expect(posted.mock.lastCall?.[0]).toBe("/schedules/{schedule_id}/run");
  await userEvent.click(row.getByRole("checkbox", { name: "Morning is enabled" }));
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { enabled: false } });
  await userEvent.click(row.getByRole("button", { name: "Delete Morning" }));
  expect(deleted.mock.lastCall?.[1]).toMatchObject({ params: { path: { schedule_id: "s1" } } });
});

it("says that there are none, and adds one", async () => {
  const { posted } = serve({});
  show(<Schedules />);
  expect(await screen.findByText("No schedules yet.")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Add a schedule" }));
  const form = within(await screen.findByRole("form", { name: "New schedule", hidden: true }));
  expect(form.getByText("At 09:00, Monday to Friday")).toBeTruthy();
  await userEvent.type(form.getByLabelText("Name"), "Daily");
  await userEvent.type(form.getByLabelText(/^path/), "src");
  await userEvent.type(form.getByLabelText(/^Limit in US dollars/), "0,5");
  await userEvent.click(form.getByRole("button", { name: "Save", hidden: true }));
  expect(posted.mock.lastCall?.[1]).toMatchObject({
    body: {
      name: "Daily",
      workflow: "explain_code",
      parameters: { path: "src" },
      limits: { cost: 0.5 },
      missed: "once",
    },
  });
});

it("shows a trigger's secret once, with the address to send to", async () => {
  const { posted } = serve({ triggers: [TRIGGER] });
  const { container } = show(<Triggers />);
  await userEvent.click(await screen.findByRole("button", { name: "Replace the secret of Push" }));
  expect(posted.mock.lastCall?.[0]).toBe("/triggers/{trigger_id}/secret");
  expect((await screen.findByLabelText("The trigger's secret")).textContent).toBe("whsec_x");
  expect(screen.getByText(`${window.location.origin}/triggers/s1`)).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(screen.queryByLabelText("The trigger's secret")).toBeNull();
});

it("sends what stands in the form, and of a trigger only what is not in the body", () => {
  expect(bodyOf(draftOf(SCHEDULE, STARTEES), SCHEDULE, false)).toEqual({
    name: "Morning",
    workflow: "explain_code",
    parameters: { path: "src" },
    cron: "0 9 * * *",
    time_zone: "Europe/Berlin",
    missed: "skip",
    role: "planner",
    limits: { tokens: 9, cost: 0.5 },
  });
  const draft = { ...draftOf(TRIGGER, STARTEES), values: { path: "old" }, role: "", cost: "" };
  expect(bodyOf(draft, TRIGGER, true)).toEqual({
    name: "Push",
    workflow: "explain_code",
    parameters: {},
    payload: { path: "/file" },
    role: null,
    limits: { tokens: 9, cost: null },
  });
});

it("links a run to its job or its chat while there is one", () => {
  expect(outcomeOf({ ...START, job_id: "j1", outcome: "awaiting_approval" })).toEqual({
    words: "waits for approval",
    link: "#/jobs/j1",
  });
  expect(outcomeOf({ ...START, status: "skipped", outcome: null, context_id: null })).toEqual({
    words: "skipped",
    link: null,
  });
});
