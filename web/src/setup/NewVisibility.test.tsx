import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { api } from "../wire/client";
import { NewVisibility } from "./NewVisibility";

afterEach(() => vi.restoreAllMocks());

/** A server that keeps the setting, or refuses each change. */
function serve(refuses = false) {
  const settings: { new_visibility: string | null } = { new_visibility: null };
  vi.spyOn(api, "GET").mockImplementation((async () => ({
    data: { ...settings },
    response: new Response(),
  })) as never);
  vi.spyOn(api, "PUT").mockImplementation((async (_: string, { body }: { body: typeof settings }) => {
    if (!refuses) Object.assign(settings, body);
    const error = { error: { code: "not_allowed", message: "This is for admins." } };
    return { data: settings, error, response: new Response(null, { status: refuses ? 403 : 200 }) };
  }) as never);
  return settings;
}

it("shows who sees what people start, and changes it", async () => {
  const settings = serve();
  const { container } = show(<NewVisibility />);
  const choice = await screen.findByLabelText<HTMLSelectElement>(/Who can see what a person starts/);
  expect(choice.value).toBe("");
  await expectAccessible(container);
  await userEvent.selectOptions(choice, "Everyone on this server");
  expect(settings.new_visibility).toBe("everyone");
  await vi.waitFor(() => expect(choice.value).toBe("everyone"));
  await userEvent.selectOptions(choice, "Default of this server");
  expect(settings.new_visibility).toBeNull();
});

it("says why it was not changed", async () => {
  serve(true);
  show(<NewVisibility />);
  const choice = await screen.findByLabelText<HTMLSelectElement>(/Who can see what a person starts/);
  await userEvent.selectOptions(choice, "Only its owner");
  expect(await screen.findByText("This is for admins.")).toBeTruthy();
  expect(choice.value).toBe("");
});
