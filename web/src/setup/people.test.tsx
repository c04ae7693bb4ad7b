import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { ReadOnlyNote } from "../chat/ReadOnlyNote";
import { authorOf } from "../state/author";
import { meOf } from "../state/me";
import { expectAccessible, show } from "../testing/render";
import { useToasts } from "../ui/toasts";
import { Refusal } from "../wire/client";
import { PeopleList, type Person, PersonForm, PersonToken } from "./People";
import { type PeopleChange, PeopleLog } from "./PeopleLog";
import { pageAt, pagesFor } from "./pages";

const OWNER: Person = {
  id: "owner",
  name: "The owner of this server",
  access: "admin",
  groups: [],
  owner: true,
  created_at: null,
};
const ADA: Person = {
  id: "p1",
  name: "Ada",
  access: "member",
  groups: [],
  owner: false,
  created_at: "2026-01-02T03:04:05Z",
};
const NOTHING = { onChange: vi.fn(), onRenew: vi.fn(), onRemove: vi.fn() };

it("says how to begin while the owner is alone", () => {
  show(<PeopleList people={[OWNER]} {...NOTHING} />);
  expect(screen.getByText(/Only you so far/)).toBeTruthy();
});

it("changes an access at once, and asks before it removes someone", async () => {
  const onChange = vi.fn();
  const onRemove = vi.fn();
  const { container } = show(<PeopleList people={[OWNER, ADA]} {...NOTHING} onChange={onChange} onRemove={onRemove} />);
  await expectAccessible(container);
  expect(screen.queryByRole("button", { name: /Remove The owner/ })).toBeNull();
  await userEvent.selectOptions(screen.getByLabelText("Access of Ada"), "viewer");
  expect(onChange).toHaveBeenCalledWith(ADA, "viewer");
  await userEvent.click(screen.getByRole("button", { name: "Remove Ada" }));
  expect(onRemove).not.toHaveBeenCalled();
  await userEvent.click(screen.getByText("Remove", { selector: "button, button *" }));
  expect(onRemove).toHaveBeenCalledWith(ADA);
});

it("adds a person by keyboard, as a member unless another access is chosen", async () => {
  const onAdd = vi.fn(() => Promise.resolve());
  const { container } = show(<PersonForm onAdd={onAdd} />);
  await expectAccessible(container);
  await userEvent.type(screen.getByLabelText("Name"), "Ada{Enter}");
  expect(onAdd).toHaveBeenCalledWith("Ada", "member");
});

it("says in the form why a person was not added, keeps what was typed, and forgets it with the next attempt", async () => {
  const refused = new Refusal(409, "conflict", "There is an Ada already.", null);
  const onAdd = vi.fn(() => Promise.resolve());
  onAdd.mockRejectedValueOnce(refused);
  const { container } = show(<PersonForm onAdd={onAdd} />);
  await userEvent.type(screen.getByLabelText("Name"), "Ada{Enter}");
  expect(within(container.querySelector("form")!).getByRole("alert").textContent).toBe("There is an Ada already.");
  expect(screen.getByLabelText<HTMLInputElement>("Name").value).toBe("Ada");
  expect(useToasts.getState().toasts).toEqual([]);
  await expectAccessible(container);
  await userEvent.type(screen.getByLabelText("Name"), " L.{Enter}");
  expect(screen.queryByRole("alert")).toBeNull();
});

it("shows a token once, with a button to copy it", async () => {
  const onDone = vi.fn();
  const { container } = show(<PersonToken made={{ name: "Ada", token: "pt-ac-secret" }} onDone={onDone} />);
  expect(screen.getByLabelText("The new token").textContent).toBe("pt-ac-secret");
  expect(screen.getByRole("button", { name: "Copy the token" })).toBeTruthy();
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(onDone).toHaveBeenCalledOnce();
});

it("says who changed what about whom, newest first", async () => {
  const base = { at: "2026-01-02T03:04:05Z", principal: "person:owner", by: null, before: null };
  const ada = (name: string, access: "viewer" | "member") => ({ id: "p1", name, access, groups: [] });
  const changes: PeopleChange[] = [
    { ...base, seq: 5, type: "person-removed", person: ada("Ada L.", "viewer") },
    {
      ...base,
      seq: 4,
      type: "person-changed",
      by: "Root",
      person: ada("Ada L.", "viewer"),
      before: { name: "Ada", access: "member", groups: [] },
    },
    {
      ...base,
      seq: 3,
      type: "person-changed",
      person: { ...ada("Ada", "member"), groups: ["design"] },
      before: { name: "Ada", access: "member", groups: [] },
    },
    { ...base, seq: 2, type: "person-token-renewed", person: ada("Ada", "member") },
    { ...base, seq: 1, type: "person-added", person: ada("Ada", "member") },
  ];
  const { container } = show(<PeopleLog changes={changes} />);
  await userEvent.click(screen.getByText("Changes"));
  const said = screen.getAllByRole("listitem").map((item) => item.firstChild?.textContent);
  expect(said).toEqual([
    "The owner removed Ada L.",
    "Root renamed Ada to Ada L.; Root changed the access of Ada L. from Member to Viewer",
    "The owner put Ada into the groups design",
    "The owner made a new token for Ada",
    "The owner added Ada (Member)",
  ]);
  await expectAccessible(container);
});

it("shows people who are no admins only their schedules, notifications and the settings of their browser", () => {
  expect(pagesFor(false).map(({ id }) => id)).toEqual(["schedules", "usage", "appearance", "notifications"]);
  expect(pageAt("people", pagesFor(false)).id).toBe("appearance");
  expect(pageAt("limits", pagesFor(false)).sections.map(({ title }) => title)).toEqual(["Your limits"]);
  expect(pageAt("people").id).toBe("people");
});

it("tells a viewer why there is no field to write in", async () => {
  const { container } = show(<ReadOnlyNote waiting={2} />);
  expect(screen.getByRole("status").textContent).toContain("2 calls wait for someone who may approve.");
  expect(screen.getByRole("status").textContent).toContain("You may only read here.");
  await expectAccessible(container);
});

it("names authors where several people work, and calls nobody by their own name", () => {
  const me = meOf({
    id: "p1",
    name: "Ada",
    access: "viewer",
    owner: false,
    confirmed: true,
    scopes: ["read"],
    shared: true,
    groups: [],
  });
  expect([me.may("send"), me.may("decide"), me.may("manage")]).toEqual([false, false, false]);
  expect(authorOf({ payload: { author: "Bob" } }, me)).toBe("Bob");
  expect(authorOf({ payload: { author: "Ada" } }, me)).toBeNull();
  expect(authorOf({ payload: null }, me)).toBe("The owner");
  expect(authorOf({ payload: null }, { name: "", owner: true, shared: false })).toBeNull();
});
