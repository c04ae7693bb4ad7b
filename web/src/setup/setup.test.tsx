import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/room";
import { type NewKey, Secret } from "./Keys";

it("shows a new key once, with the word that it is stored nowhere", async () => {
  const onDone = vi.fn();
  const { container } = show(<Secret made={{ id: "k", name: "editor", created_at: "2026-01-02T03:04:05Z", key: "ack_secret" } as NewKey} onDone={onDone} />);
  expect(screen.getByLabelText("The new key").textContent).toBe("ack_secret");
  expect(screen.getByRole("status").textContent).toContain("stored nowhere");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "I have it" }));
  expect(onDone).toHaveBeenCalledOnce();
});
