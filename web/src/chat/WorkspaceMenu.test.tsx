import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import * as acts from "../state/acts";
import { show } from "../testing/render";
import { WorkspaceMenu } from "./WorkspaceMenu";

beforeEach(() => {
  HTMLDialogElement.prototype.showModal ??= function showModal(this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close ??= function close(this: HTMLDialogElement) {
    this.open = false;
  };
});

it("adds a folder from inside the form of the start page, and does not send that form", async () => {
  const outer = vi.fn((event: { preventDefault: () => void }) => event.preventDefault());
  const chosen = vi.fn();
  const register = vi.spyOn(acts, "registerWorkspace").mockResolvedValue("/home/me/project");
  show(
    <form onSubmit={outer}>
      <WorkspaceMenu workspace={null} onChoose={chosen} />
    </form>,
  );
  await userEvent.click(screen.getByRole("button", { name: /Folder:/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: /Add a folder/ }));
  const field = await screen.findByLabelText("Folder");
  expect(field.closest("form")?.parentElement?.closest("form")).toBeNull();
  fireEvent.change(field, { target: { value: "/home/me/project" } });
  fireEvent.submit(field.closest("form")!);
  await waitFor(() => expect(chosen).toHaveBeenCalledWith("/home/me/project"));
  expect(register).toHaveBeenCalledWith("/home/me/project");
  expect(outer).not.toHaveBeenCalled();
});
