import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import type { Instructions } from "../wire/nouns";
import { InstructionsLine } from "./InstructionsLine";

const FOUND: Instructions = {
  path: "AGENTS.md",
  sha256: "d".repeat(64),
  state: "untrusted",
  content: "Use tabs.\n",
  fault: null,
};

beforeEach(() => {
  localStorage.clear();
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
  vi.stubGlobal(
    "fetch",
    vi.fn(async () => Response.json({ paths: { "/instructions": {} } })),
  );
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** A server whose folder has this file; trusting it changes what it answers. */
function serve(file: Instructions | null) {
  const now = file && { ...file };
  const posted = vi.fn();
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { instructions: now && { ...now } },
    response: new Response(),
  })) as never);
  vi.spyOn(api, "POST").mockImplementation((async (_: string, { body }: { body: unknown }) => {
    posted(body);
    if (now) now.state = "trusted";
    return { data: {}, response: new Response(null, { status: 201 }) };
  }) as never);
  const shown = show(<InstructionsLine chatId="chat" workspace="/p" idle moment={1} />);
  return { ...shown, posted };
}

it("shows the content before it is trusted, trusts exactly that in this chat, and is gone then", async () => {
  const { container, posted } = serve(FOUND);
  expect(await screen.findByText(/This folder has instructions for agents \(AGENTS.md\)/)).toBeTruthy();
  await expectAccessible(container);
  expect(screen.queryByText("Use tabs.")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Read and trust…" }));
  expect(await screen.findByText("Use tabs.")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Trust this content", hidden: true }));
  expect(posted).toHaveBeenCalledWith({
    trust: { workspace: "/p", path: "AGENTS.md", sha256: FOUND.sha256, context_id: "chat" },
  });
  await waitFor(() => expect(screen.queryByText(/This folder has instructions/)).toBeNull());
});

it("is put off for this content, and asks again for another", async () => {
  const first = serve(FOUND);
  await userEvent.click(await screen.findByRole("button", { name: "Not now" }));
  expect(screen.queryByRole("note")).toBeNull();
  first.unmount();
  serve({ ...FOUND, state: "changed", sha256: "e".repeat(64) });
  expect(await screen.findByText(/have changed. They are not used/)).toBeTruthy();
});

it("says why a file cannot be used, and offers nothing to trust", async () => {
  serve({ ...FOUND, state: "unreadable", sha256: null, content: null, fault: "it is larger than 65,536 bytes" });
  expect(await screen.findByText(/cannot be used: it is larger than 65,536 bytes/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Read and trust…" })).toBeNull();
});

it.each([null, { ...FOUND, state: "trusted" as const }])(
  "says nothing where there is nothing to decide",
  async (file) => {
    serve(file);
    await waitFor(() => expect(api.GET).toHaveBeenCalled());
    expect(screen.queryByRole("note")).toBeNull();
  },
);
