import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { lookOf } from "../roles/theme";
import { expectAccessible, show } from "../testing/render";
import { Refusal } from "../wire/client";
import { Appearance } from "./Appearance";
import { limitWords, readLimits } from "./KeyLimits";
import { KeyForm, type NewKey, Secret } from "./Keys";
import { addressIn, nameIn } from "./ProviderFields";
import { ProviderForm } from "./ProviderForm";
import { PAGES } from "./pages";

it("shows a new key once, with the word that it is stored nowhere", async () => {
  const onDone = vi.fn();
  const { container } = show(
    <Secret
      made={{ id: "k", name: "editor", created_at: "2026-01-02T03:04:05Z", key: "ack_secret" } as NewKey}
      onDone={onDone}
    />,
  );
  expect(screen.getByLabelText("The new key").textContent).toBe("ack_secret");
  expect(screen.getByRole("status").textContent).toContain("it is not shown again");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(onDone).toHaveBeenCalledOnce();
});

it("makes a key with the limits that were named, and none with those that cannot be meant", async () => {
  const onMake = vi.fn(() => Promise.resolve());
  const { container } = show(<KeyForm onMake={onMake} />);
  await userEvent.type(screen.getByLabelText("What the key is for"), "editor");
  await userEvent.click(screen.getByRole("button", { name: "Limits" }));
  await userEvent.type(screen.getByLabelText("Requests per minute"), "1.5");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Create key" }).disabled).toBe(true);
  await userEvent.clear(screen.getByLabelText("Requests per minute"));
  await userEvent.type(screen.getByLabelText("Requests per minute"), "60");
  await userEvent.type(screen.getByLabelText("US dollars per day"), "2.50");
  await expectAccessible(container);
  await userEvent.click(screen.getByRole("button", { name: "Create key" }));
  expect(onMake).toHaveBeenCalledWith("editor", { requests_per_minute: 60, spend_per_day: 2.5 });
});

it("reads limits strictly, and says them shortly", () => {
  for (const words of ["0", "-1", "x", "NaN", "Infinity", "1e13"])
    expect(readLimits({ tokens_per_day: words })).toBeNull();
  expect(readLimits({ tokens_per_day: " 1000 ", spend_per_day: "" })).toEqual({ tokens_per_day: 1000 });
  expect(limitWords({ requests_per_minute: 60, tokens_per_day: null, spend_per_day: 2.5 })).toEqual([
    "60 per minute",
    "$2.50 per day",
  ]);
});

it("takes an address and a name as people type them", () => {
  expect(["127.0.0.1:9911/v1", " localhost:1234/v1 ", "api.acme.dev/v1", "http://a/v1", ""].map(addressIn)).toEqual([
    "http://127.0.0.1:9911/v1",
    "http://localhost:1234/v1",
    "https://api.acme.dev/v1",
    "http://a/v1",
    "",
  ]);
  expect(["Acme AI", " office ", "(Büro) 2", "a_b.c-d"].map(nameIn)).toEqual([
    "acme-ai",
    "office",
    "b-ro-2",
    "a_b.c-d",
  ]);
});

it("connects what was typed, and says what failed at the field that is to blame, or above its buttons", async () => {
  const onConnect = vi.fn(() => Promise.reject(new Refusal(0, "not_connected", "acme-ai refused the key.", "api_key")));
  show(<ProviderForm presets={[]} busy={false} onConnect={onConnect} onCancel={() => {}} />);
  await userEvent.type(screen.getByLabelText(/^Address/), "127.0.0.1:9911/v1");
  await userEvent.type(screen.getByLabelText(/^Name/), "Acme AI{Enter}");
  expect(onConnect).toHaveBeenCalledWith({ name: "acme-ai", kind: "openai", base_url: "http://127.0.0.1:9911/v1" });
  const key = screen.getByLabelText(/^API key/);
  await waitFor(() => expect(key.getAttribute("aria-invalid")).toBe("true"));
  expect(document.getElementById(key.getAttribute("aria-describedby")!)!.textContent).toBe("acme-ai refused the key.");
  const button = screen.getByRole("button", { name: "Connect and test" });
  onConnect.mockImplementation(() => Promise.reject(new Refusal(0, "not_connected", "It did not answer.", null)));
  await userEvent.click(button);
  await screen.findByText("It did not answer.");
  expect(key.getAttribute("aria-invalid")).toBeNull();
  expect(screen.getByRole("alert").compareDocumentPosition(button)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});

it("gives no page of the settings the icon of another page or of a role", () => {
  const roles = ["magnifying-glass", "lightning-bolt", "compass", "pencil-ruler", "clipboard-check", "flask"].map(
    (icon) => lookOf([{ name: "one", icon, colour: "blue", tooltip: "", permissions: [] } as never], "one").Icon,
  );
  const icons = [...PAGES.map(({ Icon }) => Icon), ...roles];
  expect(new Set(icons).size).toBe(icons.length);
});

it("turns notifications and sound on with checkboxes, and says beside them what the browser does not allow", async () => {
  show(<Appearance />);
  await userEvent.click(screen.getByRole("checkbox", { name: "Notify me when something waits for me" }));
  expect((await screen.findByRole("alert")).textContent).toContain("notifications");
  expect(screen.getByRole("checkbox", { name: "Play a sound" })).toHaveProperty("checked", false);
});
