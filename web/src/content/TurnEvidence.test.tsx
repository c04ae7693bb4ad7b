import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { type Evidence, TurnEvidence } from "./TurnEvidence";

const check = {
  command: "pytest -q",
  exit_code: 0,
  ran_after_last_change: true,
  owner: "turn",
  snapshot_id: null,
  state: "met",
  passed_before: false,
  changed_by_turn: ["tests/test_a.py"],
} as const;

const evidence = (parts: object = {}): Evidence =>
  ({ status: "failed", expectations: [], checks: [], receipt: null, ...parts }) as unknown as Evidence;

// proves EVD-1/2
it("says in one of four words what a done is worth", () => {
  const words = { checked: "Checked", self_checked: "Self-checked", claimed: "Claimed", failed: "Failed" };
  for (const [status, word] of Object.entries(words)) {
    const { unmount } = show(<TurnEvidence evidence={evidence({ status })} />);
    expect(screen.getByRole("button").textContent?.trim()).toBe(word);
    unmount();
  }
});

it("shows what is missing, and which check the turn wrote itself", async () => {
  const missing = {
    kind: "output",
    subject: "report.md",
    state: "unmet",
    from: "request",
    why: "The request names it.",
  };
  const { container } = show(<TurnEvidence evidence={evidence({ expectations: [missing], checks: [check] })} />);
  await userEvent.click(screen.getByRole("button", { name: "Failed" }));
  const details = within(screen.getByLabelText("Evidence"));
  expect(details.getByLabelText("What was expected").textContent).toBe("Create report.mdThe request names it.");
  expect(details.getByRole("img", { name: "Not met" })).toBeTruthy();
  expect(details.getByLabelText("Checks").textContent).toContain("This turn changed what it runs: tests/test_a.py.");
  await expectAccessible(container);
});

it("shows a check that was expected and run once, with the reason of both", async () => {
  const expected = {
    kind: "check",
    subject: check.command,
    state: "met",
    from: "request",
    why: "The request names it.",
  };
  show(<TurnEvidence evidence={evidence({ expectations: [expected], checks: [{ ...check, passed_before: true }] })} />);
  await userEvent.click(screen.getByRole("button", { name: "Failed" }));
  const details = within(screen.getByLabelText("Evidence"));
  expect(details.getAllByText(check.command)).toHaveLength(1);
  expect(details.getByLabelText("Checks").textContent).toBe(
    "Pass pytest -q · exit code 0The request names it. It passed before the work, too. This turn changed what it runs: tests/test_a.py.",
  );
});

it("names what the turn changed of a check once", async () => {
  const why = "It passed, but the turn changed what it runs: tests/test_a.py.";
  const expected = { kind: "check", subject: check.command, state: "met", from: "request", why };
  show(<TurnEvidence evidence={evidence({ expectations: [expected], checks: [check] })} />);
  await userEvent.click(screen.getByRole("button", { name: "Failed" }));
  expect(screen.getByLabelText("Checks").textContent).toBe(`Pass pytest -q · exit code 0${why}`);
});

it("says why a check that nobody named proves nothing, and how it is run again", async () => {
  const remark = "It passed, but tests/test_a.py looks at which test runs it.";
  const shown = evidence({ status: "self_checked", checks: [{ ...check, remark }], receipt: "ab12" });
  const { container } = show(<TurnEvidence evidence={shown} />);
  await userEvent.click(screen.getByRole("button", { name: "Self-checked" }));
  const details = within(screen.getByLabelText("Evidence"));
  expect(details.getByLabelText("Checks").textContent).toContain(remark);
  expect(details.getByText("anycowork verify ab12")).toBeTruthy();
  await expectAccessible(container);
});

it("offers the rule for a check that nothing allowed, says that it holds, and only then", async () => {
  const rule = { tool: "execute_command", resource: "pytest -q", effect: "allow", scope: "workspace", workspace: "/w" };
  const answer = async () => ({ data: { ...rule, id: "r1", warnings: [] }, response: new Response() });
  const posted = vi.spyOn(api, "POST").mockImplementation(answer as unknown as typeof api.POST);
  const not_run = [
    { command: "pytest -q", rule },
    { command: "sh -c '$(x)'", rule: null },
  ];
  const { container } = show(<TurnEvidence evidence={evidence({ status: "claimed", not_run })} />);
  await userEvent.click(screen.getByRole("button", { name: "Claimed" }));
  const details = within(screen.getByLabelText("Not run, because nothing allows it without asking"));
  expect(details.getAllByRole("button")).toHaveLength(1);
  await userEvent.click(details.getByRole("button", { name: "Always allow here" }));
  expect(await details.findByText("Allowed in this folder. It runs when the next turn ends.")).toBeTruthy();
  expect(details.queryByRole("button")).toBeNull();
  expect(posted.mock.calls).toEqual([["/rules", { body: rule }]]);
  await expectAccessible(container);
});
