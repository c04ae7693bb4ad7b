import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { FolderForm } from "../setup/FolderForm";
import * as acts from "../state/acts";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { WorkspaceMenu } from "./WorkspaceMenu";

beforeEach(() => {
  HTMLDialogElement.prototype.showModal ??= function showModal(this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close ??= function close(this: HTMLDialogElement) {
    this.open = false;
  };
});

it("completes the path of a folder, one press a level", async () => {
  const asked: string[] = [];
  vi.spyOn(api, "GET").mockImplementation((async (_: string, more?: { params?: { query?: { path?: string } } }) => {
    const path = more?.params?.query?.path ?? "";
    asked.push(path);
    const folders = path.endsWith("/projects/") ? ["/home/me/projects/alpha"] : ["/home/me/projects"];
    return { data: { folders, workspaces: [] }, response: new Response() };
  }) as never);
  const added = vi.fn();
  vi.spyOn(acts, "registerWorkspace").mockImplementation(async (root) => root);
  const { container } = show(<FolderForm onAdded={added} />);
  await userEvent.click(await screen.findByRole("button", { name: "/home/me/projects" }));
  await userEvent.click(await screen.findByRole("button", { name: "/home/me/projects/alpha" }));
  expect(screen.getByLabelText<HTMLInputElement>("Folder").value).toBe("/home/me/projects/alpha/");
  expect(asked[0]).toBe("~/");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  await waitFor(() => expect(added).toHaveBeenCalledWith("/home/me/projects/alpha/"));
  vi.restoreAllMocks();
});

it("opens the dialog with the focus in its field, and offers folders before anything is typed", async () => {
  vi.spyOn(HTMLDialogElement.prototype, "showModal").mockImplementation(function showModal(this: HTMLDialogElement) {
    this.open = true;
    const wanted = this.querySelector<HTMLElement>("[autofocus]");
    (wanted ?? this.querySelector<HTMLElement>("button, input"))?.focus(); // as browsers do
  });
  const offered = { folders: ["/home/me/projects"], workspaces: [] };
  vi.spyOn(api, "GET").mockImplementation((async () => ({ data: offered, response: new Response() })) as never);
  show(<WorkspaceMenu workspace={null} onChoose={vi.fn()} />);
  await userEvent.click(screen.getByRole("button", { name: /Folder:/ }));
  await userEvent.click(screen.getByRole("menuitem", { name: /Add a folder/ }));
  const field = await screen.findByLabelText("Folder");
  await waitFor(() => expect(document.activeElement).toBe(field));
  expect(await screen.findByRole("button", { name: "/home/me/projects" })).toBeTruthy();
  vi.restoreAllMocks();
});

it("says of a folder that it was added already", async () => {
  const offered = { folders: ["/home/me/alpha", "/home/me/beta"], workspaces: [{ root: "/home/me/alpha" }] };
  vi.spyOn(api, "GET").mockImplementation((async () => ({ data: offered, response: new Response() })) as never);
  show(<FolderForm onAdded={vi.fn()} />);
  const alpha = await screen.findByRole("button", { name: /alpha/ });
  await waitFor(() => expect(alpha.textContent).toBe("/home/me/alphaadded already"));
  expect(screen.getByRole("button", { name: /beta/ }).textContent).toBe("/home/me/beta");
  vi.restoreAllMocks();
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
