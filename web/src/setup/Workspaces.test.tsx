import { useQueryClient } from "@tanstack/react-query";
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { ME } from "../state/me";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { Workspaces } from "./Workspaces";

const FILE = { kind: "workflow", path: ".anycowork/workflows/release.md", sha256: "b".repeat(64), trusted: false };

afterEach(() => vi.restoreAllMocks());

/** A server whose one folder supplies a file that may change under the page. */
function serve() {
  const now = { ...FILE };
  const posted = vi.fn();
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { workspaces: [{ root: "/p", supplies: [{ ...now }] }] },
    response: new Response(),
  })) as never);
  vi.spyOn(api, "POST").mockImplementation((async (
    _: string,
    { body }: { body: { trust: { sha256: string | null } } },
  ) => {
    posted(body);
    const fits = body.trust.sha256 === null || body.trust.sha256 === now.sha256;
    if (fits) now.trusted = body.trust.sha256 !== null;
    const error = { error: { code: "content_changed", message: "The file was changed meanwhile." } };
    return { data: {}, error, response: new Response(null, { status: fits ? 201 : 409 }) };
  }) as never);
  return { now, posted };
}

it("shows what a folder supplies, trusts exactly that, and takes it back", async () => {
  const { posted } = serve();
  const { container } = show(<Workspaces />);
  expect(await screen.findByText("not trusted: it is not used")).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Trust this content" }));
  expect(posted).toHaveBeenCalledWith({ trust: { workspace: "/p", path: FILE.path, sha256: FILE.sha256 } });
  expect(await screen.findByText("trusted")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Stop trusting" }));
  expect(await screen.findByText("not trusted: it is not used")).toBeTruthy();
});

it("vouches for the contents of a folder and takes it back", async () => {
  const folder = { id: "w1", root: "/p", supplies: [], trusts_contents: false };
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { workspaces: [{ ...folder }] },
    response: new Response(),
  })) as never);
  const patched = vi.spyOn(api, "PATCH").mockImplementation((async (_: string, { body }: { body: object }) => {
    Object.assign(folder, body);
    return { data: folder, response: new Response() };
  }) as never);
  show(<Workspaces />);
  const box = await screen.findByLabelText(/^I vouch for what lies in this folder/);
  await userEvent.click(box);
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { trusts_contents: true } });
  await vi.waitFor(() => expect((box as HTMLInputElement).checked).toBe(true));
  await userEvent.click(box);
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { trusts_contents: false } });
});

it("asks again when the file changed before it was trusted", async () => {
  const { now } = serve();
  show(<Workspaces />);
  const trust = await screen.findByRole("button", { name: "Trust this content" });
  now.sha256 = "c".repeat(64);
  await userEvent.click(trust);
  expect((await screen.findByRole("alert")).textContent).toBe("The file was changed meanwhile.");
  expect(await screen.findByTitle(`SHA-256 ${"c".repeat(64)}`)).toBeTruthy();
  expect(screen.getByText("not trusted: it is not used")).toBeTruthy();
});

it("takes a folder off the list, but not the one that the server was started with", async () => {
  const folders = ["/p", "/q"].map((root) => ({ id: `w${root}`, root, supplies: [], trusts_contents: false }));
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => ({
    data: path === "/settings" ? { workspace: "/p" } : { workspaces: [...folders] },
    response: new Response(),
  })) as never);
  const removed = vi.spyOn(api, "DELETE").mockImplementation((async () => {
    folders.pop();
    return { response: new Response(null, { status: 204 }) };
  }) as never);
  show(<Workspaces />);
  await userEvent.click(await screen.findByRole("button", { name: "Remove /q" }));
  await vi.waitFor(() => expect(screen.queryByText("/q")).toBeNull());
  expect(removed.mock.lastCall?.[1]).toMatchObject({ params: { path: { workspace_id: "w/q" } } });
  expect(screen.getByText("/p")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Remove /p" })).toBeNull();
});

const BEN = { id: "ben", name: "Ben", access: "admin", owner: false, confirmed: true, shared: true, groups: ["sales"] };

function OfBen() {
  useQueryClient().setQueryData(ME, { ...BEN, scopes: ["read", "send", "decide", "manage"] });
  return <Workspaces />;
}

it("says who sees a folder, and lets its owner change that and nobody else", async () => {
  const ofBen = { id: "w1", root: "/ben", supplies: [], trusts_contents: false, visibility: "private", owner: "ben" };
  const ofAda = { ...ofBen, id: "w2", root: "/ada", visibility: "group:sales", owner: "ada" };
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { workspaces: [{ ...ofBen }, ofAda] },
    response: new Response(),
  })) as never);
  const patched = vi.spyOn(api, "PATCH").mockImplementation((async (_: string, { body }: { body: object }) => {
    Object.assign(ofBen, body);
    return { data: ofBen, response: new Response() };
  }) as never);
  const { baseElement } = show(<OfBen />);
  expect(await screen.findByText("Who can see it: Only its owner")).toBeTruthy();
  expect(screen.getByText("Who can see it: The group sales")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Change who can see /ada" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Change who can see /ben" }));
  await expectAccessible(baseElement);
  await userEvent.click(screen.getByRole("radio", { name: "Everyone on this server" }));
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(patched.mock.lastCall?.[1]).toMatchObject({
    params: { path: { workspace_id: "w1" } },
    body: { visibility: "everyone" },
  });
  expect(await screen.findByText("Who can see it: Everyone on this server")).toBeTruthy();
});

it("sets the command that checks the work in a folder, and goes back to the tests that are found", async () => {
  const folder = { id: "w1", root: "/p", supplies: [], trusts_contents: false, check: null as string | null };
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { workspaces: [{ ...folder }] },
    response: new Response(),
  })) as never);
  const patched = vi.spyOn(api, "PATCH").mockImplementation((async (
    _: string,
    { body }: { body: { check: string } },
  ) => {
    folder.check = body.check || null;
    return { data: folder, response: new Response() };
  }) as never);
  const { container } = show(<Workspaces />);
  const field = await screen.findByLabelText<HTMLInputElement>("Check after each turn");
  expect([field.value, field.placeholder]).toEqual(["", "the tests that are found here"]);
  expect(screen.queryByRole("button", { name: "Save check" })).toBeNull();
  await userEvent.type(field, "pytest -q tests/unit{Enter}");
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { check: "pytest -q tests/unit" } });
  await expectAccessible(container);
  const saved = await screen.findByDisplayValue("pytest -q tests/unit");
  await userEvent.clear(saved);
  await userEvent.click(screen.getByRole("button", { name: "Save check" }));
  expect(patched.mock.lastCall?.[1]).toMatchObject({ body: { check: "" } });
});
