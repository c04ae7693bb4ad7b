import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, it, vi } from "vitest";
import { TextCard } from "../messages/TextCard";
import { send } from "../state/acts";
import { composer } from "../testing/composer";
import { expectAccessible, message, show } from "../testing/render";
import { api } from "../wire/client";
import { readText } from "./attachedText";

beforeEach(() => localStorage.clear());

const CSV = new File(["city,people\nBonn,330000\n"], "towns.csv", { type: "text/csv" });
const JSON_FILE = new File(["{}"], "a.json", { type: "application/json" });
const SOURCE = new File(["x = 1"], "a.py"); // browsers know no type of most sources

// proves UI-8
it("sends chosen, dropped and pasted text files with the words, and is empty then", async () => {
  const { field, onSend, container } = composer();
  await userEvent.upload(screen.getByTestId("files"), CSV);
  await screen.findByText("towns.csv");
  fireEvent.drop(container.querySelector("form")!, { dataTransfer: { files: [JSON_FILE], types: ["Files"] } });
  await screen.findByText("a.json");
  fireEvent.paste(field, { clipboardData: { files: [SOURCE], types: ["Files"] } });
  await screen.findByText("a.py");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Remove a.json" }));
  await userEvent.type(field, "Sum it up.{Enter}");
  expect(onSend).toHaveBeenCalledWith(
    "Sum it up.",
    [],
    [
      expect.objectContaining({ name: "towns.csv", content: "city,people\nBonn,330000\n" }),
      expect.objectContaining({ name: "a.py", content: "x = 1" }),
    ],
  );
  await waitFor(() => expect(screen.queryByRole("list", { name: "Files to send" })).toBeNull());
});

it("says why a file is not taken", async () => {
  const file = (content: BlobPart, name = "a.txt") => new File([content], name);
  expect(await readText(file(new Uint8Array([0x25, 0x50, 0x44, 0x46, 0xff]), "a.bin"), [])).toMatch(
    /^a.bin is not plain/,
  );
  expect(await readText(file("MZ\0"), [])).toMatch(/not plain text/);
  expect(await readText(file(" \n"), [])).toBe("a.txt is empty.");
  expect(await readText(file("x".repeat(201 * 1024)), [])).toBe("a.txt is larger than 200 KB.");
  expect(await readText(file("x"), [{ size: 400 * 1024 }])).toMatch(/400 KB of text/);
  expect(await readText(file("x"), Array(8).fill({ size: 1 }))).toMatch(/8 files/);
  expect(await readText(file("Grüße\r\n\f"), [])).toMatchObject({ name: "a.txt", content: "Grüße\r\n\f" });
});

it("says of a dropped program that it is no text", async () => {
  const { container } = composer();
  const program = new File([new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0])], "ls");
  fireEvent.drop(container.querySelector("form")!, { dataTransfer: { files: [program], types: ["Files"] } });
  expect((await screen.findByRole("alert")).textContent).toMatch(/^ls is not plain text/);
  expect(screen.queryByRole("list", { name: "Files to send" })).toBeNull();
});

it("sends of a file its name and its text", async () => {
  const post = vi.spyOn(api, "POST").mockResolvedValue({ data: {}, response: new Response() } as never);
  await send("chat", "Look.", [], [{ name: "a.py", content: "x = 1", key: "1" } as never]);
  expect(post.mock.calls[0]![1]).toMatchObject({
    body: { content: "Look.", attachments: [{ name: "a.py", content: "x = 1" }] },
  });
});

// proves UI-8
it("shows the files of a message folded, and whole with every hidden character once opened", async () => {
  const payload = { attachments: [{ name: "a\u202e.csv", content: "x\u200by\r\n1" }, 3] };
  const { container } = show(
    <TextCard message={message({ role: "user", content: "Look.", payload: payload as never })} thought={null} />,
  );
  expect(screen.getByRole("list", { name: "Attached files" }).children).toHaveLength(1);
  expect(screen.queryByText(/U\+200B/)).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /a⟨U\+202E⟩\.csv \d+ bytes/ }));
  expect(screen.getByLabelText("Attached file a⟨U+202E⟩.csv").textContent).toBe("x⟨U+200B⟩y\n1");
  await expectAccessible(container);
});

// proves UI-8
it("attaches the text of a PDF that the server has read, and says why one is not taken", async () => {
  const post = vi.spyOn(api, "POST");
  post.mockResolvedValueOnce({
    data: { name: "a.pdf", content: "Page one", pages: 1 },
    response: new Response(),
  } as never);
  const pdf = new File(["%PDF-1.7"], "a.pdf", { type: "application/pdf" });
  expect(await readText(pdf, [])).toMatchObject({ name: "a.pdf", content: "Page one", size: 8 });
  expect(post).toHaveBeenCalledWith("/attachments/pdf", { body: { name: "a.pdf", data: btoa("%PDF-1.7") } });
  const error = { error: { code: "invalid", message: "a.pdf is protected by a password." } };
  post.mockResolvedValueOnce({ error, response: new Response(null, { status: 422 }) } as never);
  expect(await readText(pdf, [])).toBe("a.pdf is protected by a password.");
  post.mockRestore();
});
