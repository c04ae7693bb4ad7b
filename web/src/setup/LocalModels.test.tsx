import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { LocalModels, type Model, ModelLine } from "./LocalModels";

const model = (parts: Partial<Model>): Model => ({
  name: "small",
  title: "Small",
  state: "absent",
  recommended: true,
  size_bytes: 1_117_320_768,
  fetched_bytes: 0,
  progress: 0,
  memory_bytes: 1_782_579_200,
  licence: "Apache-2.0",
  limits: "It is no reasoner.",
  loaded: false,
  error: null,
  ...parts,
});

const line = (parts: Partial<Model>) => {
  const on = { onPull: vi.fn(), onCancel: vi.fn(), onRemove: vi.fn() };
  return {
    on,
    ...show(
      <ul>
        <ModelLine model={model(parts)} {...on} />
      </ul>,
    ),
  };
};

it("says what a model costs and cannot do before it is fetched", async () => {
  const { on, container } = line({});
  await expectAccessible(container);
  expect(container.textContent).toContain("It is no reasoner.");
  expect(container.textContent).toContain("1.0 GB on disk");
  await userEvent.click(screen.getByRole("button", { name: "Download" }));
  expect(on.onPull).toHaveBeenCalledOnce();
});

it("shows how far a fetch is, and ends it when asked", async () => {
  const { on, container } = line({ state: "pulling", progress: 0.42, fetched_bytes: 470_000_000 });
  await expectAccessible(container);
  expect(screen.getByRole("progressbar")).toHaveProperty("value", 0.42);
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  expect(on.onCancel).toHaveBeenCalledOnce();
});

it("says why a fetch failed, and goes on from there", () => {
  line({ state: "failed", error: "The publisher did not answer.", fetched_bytes: 5 });
  expect(screen.getByText("The publisher did not answer.")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Resume" })).toBeTruthy();
});

it("shows the command that installs the engine, to be copied", async () => {
  const engine = { installed: false, hint: "Run: /opt/python -m pip install 'engine==1.2'" };
  vi.spyOn(api, "GET").mockResolvedValue({ data: { engine, models: [] }, response: new Response() } as never);
  const { container } = show(<LocalModels />);
  const command = await screen.findByText("/opt/python -m pip install 'engine==1.2'");
  expect(command.tagName).toBe("CODE");
  const copied = vi.fn(async () => undefined);
  vi.stubGlobal("navigator", { clipboard: { writeText: copied } });
  screen.getByRole("button", { name: "Copy the command" }).click();
  expect(copied).toHaveBeenCalledWith("/opt/python -m pip install 'engine==1.2'");
  vi.unstubAllGlobals();
  await expectAccessible(container);
});
