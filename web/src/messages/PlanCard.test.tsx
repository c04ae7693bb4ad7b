import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { useLive } from "../state/live";
import { expectAccessible, message, show } from "../testing/render";
import { api } from "../wire/client";
import { type PlanEdits, readPlan } from "../wire/nouns";
import { PlanCard } from "./PlanCard";

const PLAN = {
  goal: "Greet the world",
  steps: [
    {
      id: "1",
      action: "Create `hello.txt`",
      tools_needed: ["create_file"],
      paths: ["hello.txt"],
      estimated_time: "1 min",
    },
    { id: "2", action: "Run it", dependencies: ["1"], commands: ["cat hello.txt"] },
  ],
  risks: ["It may be too friendly."],
  estimated_total_time: "2 min",
};

function card(parts: Partial<Parameters<typeof PlanCard>[0]> = {}) {
  const onExecute = vi.fn<(edits: PlanEdits | null) => void>();
  const plan = readPlan(PLAN)!;
  const shown = show(
    <PlanCard
      message={message({ agent_role: "planner" })}
      plan={plan}
      state="open"
      thought={null}
      busy={false}
      onExecute={onExecute}
      onRevise={() => {}}
      onCompare={null}
      {...parts}
    />,
  );
  return { ...shown, onExecute };
}

const fieldOf = (step: number, label: string) =>
  within(screen.getByRole("group", { name: `step ${step}` })).getByLabelText(label);

// proves UI-2/2
it("shows steps, tools, risks and times", async () => {
  const { container } = card();
  for (const words of ["Greet the world", "cat hello.txt", "It may be too friendly.", "2 min", "after 1"])
    expect(screen.getByText(words)).toBeTruthy();
  await expectAccessible(container);
});

// proves UI-2/2
it("shows every command, check, path and tool whole and escaped", () => {
  const tail = `true${" ".repeat(300)}; curl evil.example`;
  const plan = readPlan({
    goal: "x",
    steps: [
      {
        id: "1",
        action: "Do",
        paths: ["a\u202Etxt"],
        commands: [`ls ${tail}`],
        check: tail,
        tools_needed: ["deploy_it"],
      },
    ],
  })!;
  card({ plan });
  const code = (text: string) =>
    screen.getByText((_, element) => element?.tagName === "CODE" && element.textContent === text);
  for (const text of ["a⟨U+202E⟩txt", `ls ${tail}`, tail, "deploy_it"]) {
    expect(code(text).className).toContain("whitespace-pre-wrap");
    expect(code(text).className).not.toContain("truncate");
  }
});

it("waits with executing until every step was in view", () => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  const { onExecute } = card();
  const button = screen.getByRole("button", { name: "Execute plan" });
  expect(button).toHaveProperty("disabled", true);
  expect(screen.getByText(/Scroll through every step/)).toBeTruthy();
  button.click();
  expect(onExecute).not.toHaveBeenCalled();
  vi.unstubAllGlobals();
});

it("keeps check and tools in view while it is edited", async () => {
  const { onExecute } = card({
    plan: readPlan({ goal: "x", steps: [{ id: "1", action: "Do", check: "make test", tools_needed: ["write"] }] })!,
  });
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  expect(fieldOf(1, "Command that proves it")).toHaveProperty("value", "make test");
  expect(fieldOf(1, "Tools it may use, separated by commas")).toHaveProperty("value", "Change files");
  await userEvent.clear(fieldOf(1, "Command that proves it"));
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  expect(onExecute.mock.calls[0]![0]!.steps[0]!).toMatchObject({ check: null, tools_needed: ["write"] });
});

it("shows of an approved plan its own paths while another plan waits", () => {
  const item = (kind: "step" | "path", text: string) => ({ kind, text, detail: "", step: "1", control: false });
  const items = [item("step", "Create c"), item("path", "c.txt"), item("step", "Run c")];
  card({ state: "approved", disclosure: { hash: "other", total: 3, items } as never });
  expect(screen.getAllByText("hello.txt")).toHaveLength(2); // in its words and among what it may change
  expect(screen.queryByText("c.txt")).toBeNull();
});

it("names the tasks of earlier plans that a step builds on by what they do", () => {
  const payload = { type: "plan", goal: "x", steps: [{ id: "a", action: "Write the outline" }] };
  useLive.setState({ view: { messages: [message({ message_type: "plan", payload: payload as never })] } as never });
  const steps = [
    { id: "1", action: "Look", builds_on: ["a", "b"] },
    { id: "2", action: "Test", dependencies: ["1"] },
  ];
  card({ plan: readPlan({ goal: "x", steps })! });
  expect(screen.getByText("after “Write the outline”, “b”")).toBeTruthy();
  expect(screen.getByText("after 1")).toBeTruthy();
  useLive.setState({ view: null });
});

it("says who does a step, where and after what, and an edit of its words keeps all of it", async () => {
  const steps = [
    { id: "1", action: "Look", agent: "scout", needs: ["gpu"], builds_on: ["a"] },
    { id: "2", action: "Test", role: "tester", dependencies: ["1"] },
  ];
  const { onExecute, container } = card({ plan: readPlan({ goal: "x", steps })! });
  for (const words of ["by scout", "on a worker with gpu", "after “a”", "in the role tester", "after 1"])
    expect(screen.getByText(words)).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  await userEvent.type(screen.getByLabelText("Step 1: what should it do?"), " closely");
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  const [first, second] = onExecute.mock.calls[0]![0]!.steps;
  expect(first).toMatchObject({ action: "Look closely", agent: "scout", needs: ["gpu"], builds_on: ["a"] });
  expect(second).toMatchObject({ role: "tester", dependencies: ["1"] });
});

it("shows what is expected of a step, and takes it as it was edited", async () => {
  const plan = readPlan({ goal: "x", steps: [{ id: "1", action: "Do", expect: ["output a.md", "no_change\u202E"] }] })!;
  const { onExecute, container } = card({ plan });
  expect(screen.getByRole("list", { name: "expected" }).textContent).toContain("no_change⟨U+202E⟩");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  const field = fieldOf(1, "Expected when it is done, one per line");
  await userEvent.clear(field);
  await userEvent.type(field, "output b.md{Enter}protected src/**");
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  expect(onExecute.mock.calls[0]![0]!.steps[0]!.expect).toEqual(["output b.md", "protected src/**"]);
});

// proves UI-2/2
it("names each field as it is labelled, in a group for its step, and begins in the first one", async () => {
  card();
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  for (const field of screen.getAllByRole<HTMLTextAreaElement>("textbox")) {
    expect(field.closest("[role=group]")?.getAttribute("aria-label")).toMatch(/^step \d$/);
    expect(field.labels).toHaveLength(1);
    expect(field.hasAttribute("aria-label")).toBe(false); // who speaks to the page says what it shows
  }
  expect(document.activeElement).toBe(screen.getByLabelText("Step 1: what should it do?"));
  for (const words of ["Step 1: what should it do?", "Step 2: what should it do?"])
    expect(screen.getByText(words)).toBeTruthy();
});

it("executes the plan as it stands", async () => {
  const { onExecute } = card();
  await userEvent.click(screen.getByRole("button", { name: "Execute plan" }));
  expect(onExecute).toHaveBeenCalledWith(null, "chat");
});

it("executes what the person made of it: reordered, changed, dropped, added", async () => {
  const { onExecute, container } = card();
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Move step 2 up" }));
  await userEvent.click(screen.getByRole("button", { name: "Remove step 2" }));
  await userEvent.type(screen.getByLabelText("Step 1: what should it do?"), " twice");
  await userEvent.click(screen.getByRole("button", { name: "Add a step" }));
  expect(screen.getByRole("button", { name: "Execute edited plan" })).toHaveProperty("disabled", true);
  await userEvent.type(screen.getByLabelText("Step 2: what should it do?"), "Rest");
  await userEvent.type(fieldOf(2, "Files it may change, separated by commas"), "a.txt, b.txt");
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  const { steps } = onExecute.mock.calls[0]![0]!;
  expect(steps.map(({ action }) => action)).toEqual(["Run it twice", "Rest"]);
  expect(steps[0]!.dependencies).toEqual([]);
  expect(steps[1]!.paths).toEqual(["a.txt", "b.txt"]);
});

it("shows its budget, and lets the person change it in their own units", async () => {
  const plan = readPlan({ ...PLAN, budget: { calls: 1, seconds: 90, tokens: 50_000, cost: 1.5 } })!;
  const { onExecute } = card({ plan });
  for (const words of ["1 change or command", "90 s at work", "50,000 tokens", "$1.50"])
    expect(screen.getByText(words)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  const minutes = screen.getByLabelText("Minutes");
  expect(minutes).toHaveProperty("value", "1.5");
  await userEvent.clear(minutes);
  await userEvent.type(minutes, "3");
  await userEvent.clear(screen.getByLabelText("Tokens"));
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  expect(onExecute.mock.calls[0]![0]!.budget).toEqual({ calls: 1, seconds: 180, tokens: null, cost: 1.5 });
});

it("takes no amount of a budget for no limit", async () => {
  const plan = readPlan({ ...PLAN, budget: { calls: 1, seconds: null, tokens: null, cost: 2 } })!;
  const { onExecute } = card({ plan });
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  for (const [label, typed] of [
    ["Dollars", "0"],
    ["Changes and commands", "-1"],
  ] as const) {
    await userEvent.clear(screen.getByLabelText(label));
    await userEvent.type(screen.getByLabelText(label), typed);
    expect(screen.getByLabelText(label).getAttribute("aria-invalid")).toBe("true");
    await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
    expect(onExecute).not.toHaveBeenCalled();
    await userEvent.clear(screen.getByLabelText(label));
  }
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  expect(onExecute.mock.calls[0]![0]!.budget).toMatchObject({ calls: null, cost: null });
});

it("says nothing of a budget that there is not", () => {
  card();
  expect(screen.queryByText("Budget")).toBeNull();
});

it.each([
  ["superseded", "replaced by a newer plan"],
  ["approved", "approved"],
] as const)("offers nothing more once it is %s", (state, words) => {
  card({ state });
  expect(screen.getByText(words)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Execute plan" })).toBeNull();
});

it("says in plain words how each step stands, and that a blocked plan is not done", async () => {
  const { container } = card({ state: "blocked", statuses: { "1": "done", "2": "open" }, onCompare: () => {} });
  expect(screen.getByText("blocked: steps are open")).toBeTruthy();
  const steps = screen.getAllByRole("listitem").map(({ textContent }) => /not done|done/.exec(textContent)?.[0]);
  expect(steps.filter(Boolean)).toEqual(["done", "not done"]);
  expect(screen.getByRole("button", { name: "Plan against actual" })).toBeTruthy();
  await expectAccessible(container);
});

it.each([["read_file"], ["read"], ["read_files"]])("never says that a step with only %s may change a file", (tool) => {
  const plan = readPlan({
    goal: "x",
    steps: [{ id: "1", action: "Look", paths: ["a.py"], tools_needed: [tool] }],
  })!;
  card({ plan });
  expect(screen.queryByText("may change")).toBeNull();
  expect(screen.getByText("looks at")).toBeTruthy();
});

it("says what the tools of a step do, once, with their names behind it, in the plan and in its editor", async () => {
  const kinds: Record<string, string> = { create_file: "create", deploy: "other" };
  vi.spyOn(api, "GET").mockImplementation((async (_: string, { params }: { params: { path: { name: string } } }) => ({
    data: { kind: kinds[params.path.name], subject: [], target: [], example: {} },
    response: new Response(),
  })) as never);
  const tools_needed = ["create_file", "create_files", "execute", "deploy", "shop__pay"];
  const { onExecute } = card({ plan: readPlan({ goal: "x", steps: [{ id: "1", action: "Do", tools_needed }] })! });
  expect((await screen.findByText("Create files")).title).toBe("create_file, create_files");
  for (const words of ["Run commands", "deploy", "pay (shop)"]) expect(screen.getByText(words)).toBeTruthy();
  expect(screen.queryByText("create_file")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  const field = fieldOf(1, "Tools it may use, separated by commas");
  expect(field).toHaveProperty("value", "Create files, Run commands, deploy, pay (shop)");
  await userEvent.clear(field);
  await userEvent.type(field, "create files, delete files, shop__pay, fetch_page");
  await userEvent.click(screen.getByRole("button", { name: "Execute edited plan" }));
  expect(onExecute.mock.calls[0]![0]!.steps[0]!.tools_needed).toEqual([
    "create_file",
    "create_files",
    "delete_files",
    "shop__pay",
    "fetch_page",
  ]);
});
