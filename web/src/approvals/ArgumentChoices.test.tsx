import { fireEvent, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { approval, expectAccessible, show } from "../testing/render";
import type { Approval } from "../wire/nouns";
import { ApprovalDock } from "./ApprovalDock";

function dock(shown: Approval) {
  const onDecide = vi.fn(() => Promise.resolve(true));
  return { ...show(<ApprovalDock approvals={[shown]} onDecide={onDecide} />), onDecide };
}

// proves APR-2
it("shows which arguments a standing answer fixes, and keeps those that the person leaves ticked", async () => {
  const parameters = { to: "ann", amount: 10, note: "Thank you." };
  const proposed_rule = {
    tool: "bank__pay",
    resource: `mcp:bank/pay#${"0a".repeat(20)}`,
    effect: "allow",
    scope: "workspace",
    workspace: "/w",
    arguments: { fixed: { to: "ann", amount: 10 }, text: ["note"], open: [] },
  };
  const { onDecide, container } = dock(approval({ tool: "bank__pay", parameters, proposed_rule } as never));
  const box = (name: string) => screen.getByRole("checkbox", { name });
  expect(box('to = "ann"')).toHaveProperty("checked", true);
  expect(box("any plain text in note")).toHaveProperty("checked", false);
  fireEvent.click(box("amount = 10"));
  fireEvent.click(box("any plain text in note"));
  expect(screen.getByText(/with to = "ann", note = "Thank you.", any amount/)).toBeTruthy();
  await expectAccessible(container);
  fireEvent.click(screen.getByRole("button", { name: "Always allow" }));
  const fixed = { to: "ann", note: "Thank you." };
  expect(onDecide).toHaveBeenCalledWith([
    expect.objectContaining({
      decision: "allow_always",
      rule: {
        tool: "bank__pay",
        resource: proposed_rule.resource,
        effect: "allow",
        arguments: { fixed, text: [], open: ["amount"] },
      },
    }),
  ]);
});

it("sends no rule of its own with the proposed arguments, and none with an answer for once", () => {
  const rule = { tool: "bank__pay", resource: "mcp:bank/pay#0a", effect: "allow" };
  const given = { arguments: { fixed: { to: "ann" }, text: [], open: [] } };
  const shown = approval({
    tool: "bank__pay",
    parameters: { to: "ann" },
    proposed_rule: { ...rule, ...given },
  } as never);
  const { onDecide } = dock(shown);
  fireEvent.click(screen.getByRole("button", { name: "Always allow" }));
  fireEvent.click(screen.getByRole("checkbox"));
  fireEvent.click(screen.getByRole("button", { name: /^Allow once/ }));
  expect(onDecide).toHaveBeenCalled();
  expect(JSON.stringify(onDecide.mock.calls)).not.toContain('"rule"');
});
