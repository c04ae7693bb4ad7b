import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { useCommands } from "./commands";
import { useLive } from "./state/live";
import { closeFiles, useFilesPane } from "./state/openFiles";
import { show } from "./testing/render";
import { Palette } from "./ui/Palette";
import { api } from "./wire/client";

const nothing = () => {};

function Offered() {
  const [sought, setSought] = useState("");
  const { path } = useFilesPane();
  const commands = useCommands({ sought, onWaiting: nothing, onShortcuts: nothing, onSidebar: nothing });
  return (
    <>
      <Palette open commands={commands} onWords={setSought} onClose={nothing} />
      <output aria-label="Open file">{path}</output>
    </>
  );
}

afterEach(() => {
  useLive.setState({ chatId: null });
  closeFiles();
});

function answering() {
  const results = [
    { path: "src/core", shown: "src/core", kind: "folder" },
    { path: "src/core.py", shown: "src/core.py", kind: "file" },
  ];
  const answer = (path: string) =>
    path.endsWith("/files/search")
      ? Promise.resolve({ data: { results }, response: new Response() })
      : new Promise(nothing);
  return vi.spyOn(api, "GET").mockImplementation(answer as unknown as typeof api.GET);
}

it("opens a file of the chat's workspace by some letters of its path", async () => {
  answering();
  useLive.setState({ chatId: "c" });
  show(<Offered />);
  await userEvent.type(screen.getByRole("combobox"), "core");
  expect(await screen.findByRole("option", { name: /src\/core\.py/ })).toBeTruthy();
  expect(screen.getAllByRole("option")).toHaveLength(1);
  await userEvent.keyboard("{Enter}");
  expect(screen.getByLabelText("Open file").textContent).toBe("src/core.py");
});

it("looks for files only in a chat, and only once something is sought", async () => {
  const asked = answering();
  show(<Offered />);
  await userEvent.type(screen.getByRole("combobox"), "core");
  expect(asked.mock.calls.filter((given: unknown[]) => String(given[0]).endsWith("/files/search"))).toEqual([]);
});
