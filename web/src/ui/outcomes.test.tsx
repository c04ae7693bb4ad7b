import { act, fireEvent, screen, within } from "@testing-library/react";
import { useState } from "react";
import { beforeEach, expect, it, vi } from "vitest";
import SettingsPage from "../setup/SettingsPage";
import { expectAccessible, show } from "../testing/render";
import { Refusal } from "../wire/client";
import { Dialog } from "./Dialog";
import { Outcomes } from "./Outcomes";
import { attempt, say, sayOnPage } from "./outcomes";
import { useToasts } from "./toasts";

beforeEach(() => {
  location.hash = "#/settings/models";
});

const toasts = () => useToasts.getState().toasts.map(({ words }) => words);
const refused = () => Promise.reject(new Refusal(409, "conflict", "It is in use.", null));

function Page() {
  const [open, setOpen] = useState(false);
  return (
    <main>
      <Outcomes page />
      <section aria-label="Keys">
        <ul>
          {["one", "two"].map((name) => (
            <li key={name} aria-label={name}>
              <button type="button" onClick={() => void attempt(refused())}>
                Remove {name}
              </button>
              <Outcomes />
            </li>
          ))}
        </ul>
        <button type="button" onClick={() => setOpen(true)}>
          Ask
        </button>
        <Outcomes />
      </section>
      <Dialog title="Sure?" open={open} onClose={() => setOpen(false)}>
        <button type="button" onClick={() => void attempt(refused())}>
          Yes
        </button>
        <button
          type="button"
          onClick={() => {
            say("All removed."); // while the dialog is still there
            setOpen(false);
          }}
        >
          All
        </button>
      </Dialog>
    </main>
  );
}

it("says what came of an act beside the control that began it, until the next act there", async () => {
  const { container } = show(<Page />);
  fireEvent.click(screen.getByText("Remove two"));
  const row = screen.getByRole("listitem", { name: "two" });
  expect(await within(row).findByText("It is in use.")).toBeTruthy();
  expect(screen.getAllByText("It is in use.")).toHaveLength(1);
  await expectAccessible(container);
  fireEvent.click(screen.getByText("Remove one"));
  const other = screen.getByRole("listitem", { name: "one" });
  await within(other).findByText("It is in use.");
  fireEvent.click(within(row).getByRole("button", { name: "Dismiss" }));
  expect(within(row).queryByText("It is in use.")).toBeNull();
  expect(toasts()).toEqual([]);
});

it("says it in the dialog that began it, and where that was opened once it is closed", async () => {
  show(<Page />);
  fireEvent.click(screen.getByText("Ask"));
  fireEvent.click(screen.getByText("Yes"));
  expect(await within(screen.getByRole("dialog")).findByText("It is in use.")).toBeTruthy();
  fireEvent.click(screen.getByText("All"));
  const section = screen.getByRole("region", { name: "Keys" });
  expect(await within(section).findByText("All removed.")).toBeTruthy();
  expect(toasts()).toEqual([]);
});

it("says on the page what nothing on it began", () => {
  show(<Page />);
  act(() => sayOnPage("That message is not here.", "problem"));
  expect(screen.getByRole("main").firstElementChild?.textContent).toContain("That message is not here.");
  expect(toasts()).toEqual([]);
});

it("is a toast once the page where it began was left", () => {
  const page = show(<Page />);
  fireEvent.click(screen.getByText("Remove one"));
  page.unmount();
  location.hash = "#/jobs";
  const { container } = show(<Outcomes page />);
  act(() => say("It was removed."));
  expect(container.textContent).toBe("");
  expect(toasts()).toEqual(["It was removed."]);
});

it("keeps a fault, and lets news go", () => {
  vi.useFakeTimers();
  try {
    show(<Page />);
    fireEvent.click(screen.getByText("Ask"));
    act(() => say("Saved."));
    act(() => void vi.advanceTimersByTime(7_000));
    expect(screen.queryByText("Saved.")).toBeNull();
    act(() => say("Broken.", "problem"));
    act(() => void vi.advanceTimersByTime(60_000));
    expect(screen.getByText("Broken.")).toBeTruthy();
  } finally {
    vi.useRealTimers();
  }
});

it("has a place in every section of the settings", () => {
  show(<SettingsPage part="appearance" onSidebar={() => {}} />);
  const section = screen.getByRole("region", { name: "Appearance" });
  fireEvent.click(within(section).getByLabelText("Language"));
  act(() => say("Saved."));
  expect(within(section).getByText("Saved.")).toBeTruthy();
  expect(toasts()).toEqual([]);
});

/** A toast is for what happened elsewhere. One more caller needs its reason here. */
const MAY_TOAST: Readonly<Record<string, string>> = {
  "../ui/outcomes.ts": "says what came of an act whose page was left meanwhile, or has no place for it",
};

it("has no other callers of toasts", () => {
  const sources = import.meta.glob("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
  const callers = Object.entries(sources as Record<string, string>)
    .map(([path, text]) => [path.startsWith("./") ? path.replace("./", "../ui/") : path, text] as const)
    .filter(([path]) => !/\.test\.tsx?$|^\.\.\/testing\//.test(path))
    .filter(([, text]) => /import \{[^}]*\btoast\b[^}]*\} from "[^"]*\/toasts"|useToasts\.setState/.test(text))
    .map(([path]) => path)
    .filter((path) => path !== "../ui/toasts.ts");
  expect(callers).toEqual(Object.keys(MAY_TOAST));
});
