import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { expectAccessible, show } from "../testing/render";
import { limitWords, readLimits } from "./KeyLimits";
import { KeyForm, type NewKey, Secret } from "./Keys";
import { addressIn, nameIn } from "./ProviderFields";
import { ProviderForm } from "./ProviderForm";

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
  const onMake = vi.fn(() => Promise.resolve(true));
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

it("connects what was typed, and says above its buttons why that failed", async () => {
  const onConnect = vi.fn();
  const form = (problem: string) => (
    <ProviderForm presets={[]} busy={false} problem={problem} onConnect={onConnect} onCancel={() => {}} />
  );
  const { rerender } = show(form(""));
  await userEvent.type(screen.getByLabelText(/^Address/), "127.0.0.1:9911/v1");
  await userEvent.type(screen.getByLabelText(/^Name/), "Acme AI{Enter}");
  expect(onConnect).toHaveBeenCalledWith({ name: "acme-ai", kind: "openai", base_url: "http://127.0.0.1:9911/v1" });
  rerender(form("acme-ai refused the key."));
  const button = screen.getByRole("button", { name: "Connect and test" });
  expect(screen.getByRole("alert").compareDocumentPosition(button)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});
