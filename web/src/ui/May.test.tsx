import { fireEvent, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { ErrorCard } from "../messages/ErrorCard";
import { MessageTools } from "../messages/MessageTools";
import type { AccessLevel } from "../state/me";
import { message, show } from "../testing/render";
import { Trust } from "../workflows/Trust";
import { Button, IconButton } from "./Button";
import { useHotkeys } from "./hotkeys";
import { Shortcuts } from "./Shortcuts";

const LEVELS: readonly AccessLevel[] = ["admin", "member", "viewer"];

function seenBy(access: AccessLevel | null, node: React.ReactNode): string[] {
  const { unmount } = show(node, access);
  const names = screen.queryAllByRole("button").map((one) => one.getAttribute("aria-label") ?? one.textContent ?? "");
  unmount();
  return names;
}

it("shows a control to who may do what it asks for, and to nobody else", () => {
  const controls = (
    <>
      <Button>Read</Button>
      <IconButton label="Stop" needs="POST /context/{chat_id}/stop" />
      <Button needs="POST /jobs/{job_id}/pause">Pause</Button>
      <Button needs="POST /workspaces">Add</Button>
    </>
  );
  expect([null, ...LEVELS].map((access) => seenBy(access, controls))).toEqual([
    ["Read", "Stop", "Pause", "Add"],
    ["Read", "Stop", "Pause", "Add"],
    ["Read", "Stop", "Pause"],
    ["Read"],
  ]);
});

it("leaves a viewer a message's link and words, and nothing that makes a chat", () => {
  const tools = <MessageTools id="m1" text="Hello" own />;
  expect(seenBy("member", tools)).toEqual(["Edit and resend", "Fork from here", "Copy link", "Copy message"]);
  expect(seenBy("viewer", tools)).toEqual(["Copy link", "Copy message"]);
});

it("offers trust and the settings of models to admins only", () => {
  const trust = <Trust workspace="/w" file={{ path: "a.md", sha256: "0".repeat(64), trusted: false }} />;
  expect(LEVELS.map((access) => seenBy(access, trust).includes("Trust this content"))).toEqual([true, false, false]);
  const fault = { code: "provider_bad_key", message: "No." };
  for (const access of LEVELS) {
    const { unmount } = show(<ErrorCard message={message()} fault={fault as never} />, access);
    expect(screen.queryAllByRole("link").length).toBe(access === "admin" ? 1 : 0);
    unmount();
  }
});

function Heard(acts: { stop: () => void; terminal: () => void; palette: () => void }) {
  useHotkeys(acts);
  return null;
}

it("does nothing on the keys of what a person may not do, and does not list them", () => {
  const pressedBy = (access: AccessLevel): number[] => {
    const acts = { stop: vi.fn(), terminal: vi.fn(), palette: vi.fn() };
    const { unmount } = show(<Heard {...acts} />, access);
    fireEvent.keyDown(document.body, { key: ".", ctrlKey: true });
    fireEvent.keyDown(document.body, { key: "t", code: "KeyT", altKey: true });
    fireEvent.keyDown(document.body, { key: "k", ctrlKey: true });
    unmount();
    return [acts.stop, acts.terminal, acts.palette].map((act) => act.mock.calls.length);
  };
  expect(LEVELS.map(pressedBy)).toEqual([
    [1, 1, 1],
    [1, 0, 1],
    [0, 0, 1],
  ]);
  const listed = seenBy("viewer", <Shortcuts open onClose={() => {}} />).join(" ");
  expect(listed).toContain("Open the command palette");
  expect(listed).not.toContain("Stop the agent");
});
