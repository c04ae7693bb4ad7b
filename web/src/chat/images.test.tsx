import { createEvent, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Pictures } from "../messages/Pictures";
import { TextCard } from "../messages/TextCard";
import { send } from "../state/acts";
import { useLive } from "../state/live";
import { sees } from "../state/queries";
import { composer } from "../testing/composer";
import { expectAccessible, message, show } from "../testing/render";
import { api } from "../wire/client";
import type { Provider } from "../wire/nouns";
import { whyNotAttachable } from "./attached";

beforeEach(() => localStorage.clear());
afterEach(() => {
  useLive.setState({ chatId: null });
  vi.unstubAllGlobals();
});

const PNG = new File([new Uint8Array([137, 80, 78, 71])], "flag.png", { type: "image/png" });

it("sends a chosen image with the words, and is empty then", async () => {
  const { field, onSend, container } = composer({ images: true });
  await userEvent.upload(screen.getByTestId("files"), PNG);
  expect(await screen.findByRole("img", { name: "flag.png" })).toBeTruthy();
  await expectAccessible(container);
  await userEvent.type(field, "What is this?{Enter}");
  expect(onSend).toHaveBeenCalledWith(
    "What is this?",
    [expect.objectContaining({ name: "flag.png", media_type: "image/png", data: "iVBORw==" })],
    [],
  );
  await waitFor(() => expect(screen.queryByRole("img", { name: "flag.png" })).toBeNull());
});

it("takes a pasted and a dropped image, and gives them back", async () => {
  const { field, container } = composer({ images: true });
  fireEvent.paste(field, { clipboardData: { files: [PNG] } });
  await screen.findByRole("img", { name: "flag.png" });
  fireEvent.drop(container.querySelector("form")!, {
    dataTransfer: { files: [new File(["x"], "two.gif", { type: "image/gif" })], types: ["Files"] },
  });
  await screen.findByRole("img", { name: "two.gif" });
  await userEvent.click(screen.getByRole("button", { name: "Remove flag.png" }));
  expect(screen.queryByRole("img", { name: "flag.png" })).toBeNull();
  expect(screen.getByRole("img", { name: "two.gif" })).toBeTruthy();
});

it("says that a model cannot see, and leaves words alone that come with a picture of themselves", () => {
  const { field } = composer();
  const pasted = createEvent.paste(field, { clipboardData: { files: [PNG] } });
  fireEvent(field, pasted);
  expect(pasted.defaultPrevented).toBe(true);
  expect(screen.getByRole("alert").textContent).toContain("Choose another one above");
  const cells = createEvent.paste(field, { clipboardData: { files: [PNG], types: ["text/plain", "Files"] } });
  fireEvent(field, cells);
  expect(cells.defaultPrevented).toBe(false);
  expect(screen.queryByRole("list", { name: "Images to send" })).toBeNull();
});

it("holds an image of another kind, and says so", () => {
  const { container } = composer({ images: true });
  const dropped = createEvent.drop(container.querySelector("form")!, {
    dataTransfer: { files: [new File(["x"], "notes.tiff", { type: "image/tiff" })], types: ["Files"] },
  });
  fireEvent(container.querySelector("form")!, dropped);
  expect(dropped.defaultPrevented).toBe(true);
  expect(screen.getByRole("alert").textContent).toMatch(/^notes.tiff is not a PNG/);
});

it("says why a file is not taken", () => {
  const file = { name: "a.svg", type: "image/svg+xml", size: 10 };
  expect(whyNotAttachable(file, [])).toMatch(/not a PNG/);
  expect(whyNotAttachable({ ...file, type: "image/png", size: 6 * 1024 * 1024 }, [])).toMatch(/5 MB/);
  expect(whyNotAttachable({ ...file, type: "image/png" }, Array(8).fill({ file: { size: 1 } }))).toMatch(/8 images/);
  expect(whyNotAttachable({ ...file, type: "image/png", size: 4e6 }, [{ file: { size: 4e6 } }])).toMatch(/7 MB/);
  expect(whyNotAttachable({ ...file, type: "image/png" }, [])).toBeNull();
});

it("sends of an image what the server takes, and nothing of it without one", async () => {
  const post = vi.spyOn(api, "POST").mockResolvedValue({ data: {}, response: new Response() } as never);
  const image = { key: "1", file: PNG, name: "flag.png", media_type: "image/png" as const, data: "iVBORw==" };
  await send("chat", "Look.", [image]);
  await send("chat", "Hi.");
  const bodies = (post.mock.calls as unknown as [string, { body: unknown }][]).map(([, { body }]) => body);
  expect(bodies).toEqual([
    { content: "Look.", images: [{ media_type: "image/png", data: "iVBORw==", name: "flag.png" }] },
    { content: "Hi." },
  ]);
});

it("reads the images of a message with the page key, and has words for who cannot see", async () => {
  localStorage.setItem("anycowork.page-key", "key");
  const fetching = vi.fn(() => Promise.resolve(new Response(PNG)));
  vi.stubGlobal("fetch", fetching);
  URL.createObjectURL = vi.fn(() => "blob:made");
  URL.revokeObjectURL = vi.fn();
  useLive.setState({ chatId: "chat" });
  const payload = {
    images: [
      { name: "flag.png", width: 3, height: 2 },
      { name: "", width: "x" },
    ],
  };
  const { container } = show(
    <TextCard message={message({ role: "user", content: "Look.", payload: payload as never })} thought={null} />,
  );
  const [named, nameless] = screen.getAllByRole("img");
  await waitFor(() => expect(named!.getAttribute("src")).toBe("blob:made"));
  expect(fetching).toHaveBeenCalledWith(
    "/context/chat/messages/m1/images/0",
    expect.objectContaining({ headers: { "X-AnyCowork-Page-Key": "key" } }),
  );
  expect(named!.getAttribute("alt")).toBe("Image: flag.png");
  expect(nameless!.getAttribute("alt")).toBe("Image without a name");
  await expectAccessible(container);
});

it("shows nothing where there is none", () => {
  useLive.setState({ chatId: "chat" });
  expect(show(<Pictures messageId="m1" pictures={[]} />).container.textContent).toBe("");
});

const provider = (parts: Partial<Provider>): Provider => ({
  name: "p",
  kind: "openai",
  base_url: null,
  models: [],
  images: [],
  no_images: [],
  tries_images: false,
  model_settings: {},
  privacy: "anyone",
  changeable: true,
  default: false,
  default_model: null,
  status: "",
  detail: null,
  ...parts,
});

it("knows whether the model that answers can see", () => {
  const providers = [
    provider({ name: "many", models: ["blind", "eyes"], images: ["eyes"], default: true }),
    provider({ name: "claude", images: ["auto"] }),
    provider({ name: "acme", tries_images: true, no_images: ["text-only"] }),
  ];
  expect(sees(providers, null)).toBe(false);
  expect(sees(providers, "many/eyes")).toBe(true);
  expect(sees(providers, "many/blind")).toBe(false);
  expect(sees(providers, "eyes")).toBe(true);
  expect(sees(providers, "claude")).toBe(true);
  expect(sees(providers, "acme/never-heard-of")).toBe(true);
  expect(sees(providers, "acme/text-only")).toBe(false);
  expect(sees([], null)).toBe(false);
});
