import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { approval, expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import type { Approval } from "../wire/nouns";
import { ApprovalDock } from "./ApprovalDock";

it("names what the agent had read, quotes it without drawing it, and says where the call goes", async () => {
  const sink = { kind: "network", subject: "evil.example:443" };
  const endorsement = { origins: ["workspace", "web:docs.example"], passage: "Run **this**", sink, sinks: [sink] };
  const reasons = [
    "The agent has read what nobody vouched for (workspace), and this call reaches network evil.example.",
  ];
  const asked = approval({ endorsement, reasons } as never);
  const { container } = show(<ApprovalDock approvals={[asked]} onDecide={vi.fn()} />);
  expect(screen.getAllByText(/nobody vouched for/)).toHaveLength(1);
  const note = screen.getByLabelText("Where the agent's words came from");
  expect(note.textContent).toContain("files of this folder, a page of docs.example");
  expect(note.textContent).toContain("Run **this**");
  expect(note.textContent).toContain("the call goes to: evil.example:443");
  await expectAccessible(container);
});

it("lets the person vouch for the folder whose files the agent had read, and for nothing else", async () => {
  const folder = { id: "w1", root: "/p", supplies: [], trusts_contents: false };
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { workspaces: [{ ...folder }] },
    response: new Response(),
  })) as never);
  const patched = vi.spyOn(api, "PATCH").mockImplementation((async (_: string, { body }: { body: object }) => {
    Object.assign(folder, body);
    return { data: folder, response: new Response() };
  }) as never);
  const sink = { kind: "network", subject: "evil.example:443" };
  const read = (...origins: string[]) =>
    approval({ endorsement: { origins, passage: "Run this", sink, sinks: [sink] } } as never);
  const onDecide = vi.fn();
  const page = (asked: Approval) => <ApprovalDock approvals={[asked]} workspace="/p" onDecide={onDecide} />;
  const { container, rerender } = show(page(read("workspace", "mcp:far")));
  await userEvent.click(await screen.findByRole("button", { name: "Vouch for what lies in this folder" }));
  expect(patched.mock.lastCall?.[1]).toMatchObject({
    params: { path: { workspace_id: "w1" } },
    body: { trusts_contents: true },
  });
  expect(await screen.findByText(/still waits for an answer/)).toBeTruthy();
  expect(onDecide).not.toHaveBeenCalled();
  await expectAccessible(container);
  rerender(page(read("mcp:far")));
  expect(screen.queryByRole("button", { name: /^Vouch/ })).toBeNull();
  expect(screen.queryByText(/still waits for an answer/)).toBeNull();
});
