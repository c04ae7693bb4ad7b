import { fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { newChat } from "../state/acts";
import { show } from "../testing/render";
import { api } from "../wire/client";
import { Home, RoleChips } from "./Home";

const FOLDERS = ["/projects/first", "/projects/second"].map((root) => ({ root, name: root, trusted: true }));
const SERVERS = [
  {
    name: "acme",
    kind: "openai",
    models: ["small"],
    images: [],
    default: true,
    default_model: "small",
    status: "ready",
  },
  {
    name: "other",
    kind: "openai",
    models: ["large"],
    images: [],
    default: false,
    default_model: null,
    status: "ready",
  },
];

/** The start page of a server with two folders and two model servers; what it posts. */
function startPage() {
  vi.spyOn(api, "GET").mockImplementation((async (path: string) => {
    const data =
      path === "/workspaces"
        ? { workspaces: FOLDERS }
        : path === "/providers"
          ? { providers: SERVERS, presets: [] }
          : path === "/settings"
            ? { workspace: "/projects/first" }
            : { contexts: [], workflows: [], models: {}, agents: [], templates: [], faults: [], plans: [] };
    return { data, response: new Response() };
  }) as never);
  const posted = vi
    .spyOn(api, "POST")
    .mockImplementation((async () => ({ data: { id: "c" }, response: new Response() })) as never);
  const { unmount } = show(<Home onSidebar={() => {}} />);
  return { posted, unmount };
}

async function begin(words: string) {
  await userEvent.type(screen.getByRole("textbox", { name: "Message" }), `${words}{Enter}`);
}

// proves ROL-3/3
it("starts a chat as Actor in the folder and with the model used last, and shows them", async () => {
  localStorage.clear();
  const first = startPage();
  await screen.findByRole("button", { name: "Folder: /projects/first" });
  expect(screen.getByRole("radio", { name: "Actor" }).getAttribute("aria-checked")).toBe("true");
  await begin("hello");
  expect(first.posted.mock.calls[0]).toEqual(["/context", { body: { agent_role: "actor" } }]);
  await newChat({ workspace: "/projects/second", model: "other/large" });
  first.unmount();
  const second = startPage();
  await screen.findByRole("button", { name: "Folder: /projects/second" });
  await screen.findByRole("button", { name: "Model: other/large" });
  expect(screen.getByRole("radio", { name: "Actor" }).getAttribute("aria-checked")).toBe("true");
  second.posted.mockClear();
  await begin("again");
  const body = { agent_role: "actor", workspace: "/projects/second", model: "other/large" };
  expect(second.posted.mock.calls[0]).toEqual(["/context", { body }]);
});

it("runs what is typed on the start page as a job of a new chat", async () => {
  localStorage.clear();
  location.hash = "";
  const { posted } = startPage();
  expect(screen.queryByRole("button", { name: "Run as a job" })).toBeNull();
  await userEvent.type(screen.getByRole("textbox", { name: "Message" }), "tidy up");
  await userEvent.click(screen.getByRole("button", { name: "Run as a job" }));
  const dialog = await screen.findByRole("dialog", { name: "Run as a job" });
  expect(posted.mock.calls.map((call: readonly unknown[]) => call[0])).toEqual(["/context"]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  await vi.waitFor(() => expect(location.hash).toBe("#/chat/c"));
  expect(posted.mock.calls[1]).toMatchObject([
    "/context/{chat_id}/jobs",
    { params: { path: { chat_id: "c" } }, body: { request: "tidy up" } },
  ]);
  expect(posted).toHaveBeenCalledTimes(2);
});

it("forgets a folder and a model that are gone", async () => {
  localStorage.setItem("anycowork.folder", "/projects/removed");
  localStorage.setItem("anycowork.model", "removed/model");
  startPage();
  await screen.findByRole("button", { name: "Folder: /projects/first" });
  await screen.findByRole("button", { name: "Model: acme/small" });
});

it("chooses a role as soon as it is pressed: the page may move before it is released", async () => {
  const onChoose = vi.fn();
  show(<RoleChips role="planner" onChoose={onChoose} />);
  const actor = screen.getByRole("radio", { name: "Actor" });
  fireEvent.pointerDown(actor, { pointerType: "mouse", button: 2 });
  fireEvent.pointerDown(actor, { pointerType: "touch", button: 0 }); // it may be the start of scrolling
  expect(onChoose).not.toHaveBeenCalled();
  fireEvent.pointerDown(actor, { pointerType: "mouse", button: 0 });
  expect(onChoose).toHaveBeenLastCalledWith("actor");
  await userEvent.click(screen.getByRole("radio", { name: "House elf" }));
  expect(onChoose).toHaveBeenLastCalledWith("house_elf");
});
