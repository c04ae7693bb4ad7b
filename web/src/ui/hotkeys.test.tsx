import { fireEvent, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { setPreference } from "../browser/preferences";
import { expectAccessible, show } from "../testing/render";
import { conflict, keysOf, pressed, setKeys, useHotkeys } from "./hotkeys";
import { Shortcuts } from "./Shortcuts";

beforeEach(() => setPreference("keys", "{}"));

function Heard({ stop }: { stop: () => void }) {
  useHotkeys({ stop });
  return null;
}

it("takes other keys for an act, and the old ones do nothing any more", async () => {
  const stop = vi.fn();
  const { container } = show(
    <>
      <Heard stop={stop} />
      <Shortcuts open onClose={() => {}} />
    </>,
  );
  await userEvent.click(screen.getByRole("button", { name: /^Stop the agent: Ctrl\+\., change/ }));
  await expectAccessible(container);
  fireEvent.keyDown(screen.getByRole("button", { name: /Press keys/ }), { key: "s", code: "KeyS", altKey: true });
  expect(screen.getByRole("button", { name: /^Stop the agent: Alt\+S/ })).toBeTruthy();
  fireEvent.keyDown(document.body, { key: ".", ctrlKey: true });
  expect(stop).not.toHaveBeenCalled();
  fireEvent.keyDown(document.body, { key: "ß", code: "KeyS", altKey: true });
  expect(stop).toHaveBeenCalledOnce();
  await userEvent.click(screen.getByRole("button", { name: "Reset all" }));
  expect(keysOf("stop")).toBe("Mod+.");
});

it("shows what stands against keys, and leaves them as they are", async () => {
  show(<Shortcuts open onClose={() => {}} />);
  await userEvent.click(screen.getByRole("button", { name: /^Stop the agent/ }));
  fireEvent.keyDown(screen.getByRole("button", { name: /Press keys/ }), { key: "k", code: "KeyK", ctrlKey: true });
  expect(screen.getByRole("alert").textContent).toContain("Already: Open the command palette");
  fireEvent.keyDown(screen.getByRole("button", { name: /Press keys/ }), { key: "Escape" });
  expect(keysOf("stop")).toBe("Mod+.");
  for (const letter of ["Y", "S", "7", "Ä"]) expect(conflict("stop", letter)).toMatch(/typed into the message/);
});

it("reads what was pressed, and passes over keys that are only held", () => {
  const key = (init: KeyboardEventInit) => pressed(new KeyboardEvent("keydown", init));
  expect(key({ key: "k", metaKey: true })).toBe("Mod+K");
  expect(key({ key: "?", shiftKey: true })).toBe("?");
  expect(key({ key: "å", code: "KeyA", altKey: true })).toBe("Alt+A");
  expect([key({ key: "Shift" }), key({ key: "ArrowUp" }), key({ key: " " })]).toEqual([null, null, null]);
});

// proves UI-15/1
it("passes over a letter that an older version kept as a shortcut: it is typed", () => {
  setPreference("keys", JSON.stringify({ stop: "S", palette: "Mod+P" }));
  expect([keysOf("stop"), keysOf("palette")]).toEqual(["Mod+.", "Mod+P"]);
});

it("keeps its own keys where what was kept cannot be read", () => {
  setPreference("keys", "no json");
  expect(keysOf("palette")).toBe("Mod+K");
  setKeys("palette", "Mod+P");
  expect(keysOf("palette")).toBe("Mod+P");
  setKeys("palette", null);
  expect(keysOf("palette")).toBe("Mod+K");
});
