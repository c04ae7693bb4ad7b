import { useQueryClient } from "@tanstack/react-query";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { changeChat } from "../state/acts";
import { ME } from "../state/me";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { VisibilityDialog } from "./VisibilityDialog";

const ADA = { id: "ada", name: "Ada", access: "member", owner: false, confirmed: true, shared: true };

function OfAda({ onClose }: { onClose: () => void }) {
  useQueryClient().setQueryData(ME, { ...ADA, groups: ["design"], scopes: ["read", "send", "decide"] });
  const onChange = (visibility: string) => changeChat("c1", { visibility });
  return <VisibilityDialog open visibility="private" note="" onChange={onChange} onClose={onClose} />;
}

it("offers the person's own groups, sends the chosen one, and says a refusal in the dialog", async () => {
  const refused = { error: { code: "invalid", message: "Nobody is in that group.", param: "visibility" } };
  const patched = vi.spyOn(api, "PATCH");
  patched.mockResolvedValueOnce({ error: refused, response: new Response(null, { status: 422 }) } as never);
  patched.mockResolvedValue({ data: { id: "c1" }, response: new Response() } as never);
  const onClose = vi.fn();
  const { baseElement } = show(<OfAda onClose={onClose} />);
  const save = screen.getByRole<HTMLButtonElement>("button", { name: "Save" });
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "Only its owner" }).checked && save.disabled).toBe(true);
  await userEvent.click(screen.getByRole("radio", { name: "The group design" }));
  await userEvent.click(save);
  expect(await screen.findByText("Nobody is in that group.")).toBeTruthy();
  await expectAccessible(baseElement);
  expect(onClose).not.toHaveBeenCalled();
  await userEvent.click(save);
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { visibility: "group:design" } });
  expect(onClose).toHaveBeenCalled();
});
