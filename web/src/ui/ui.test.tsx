import { act, fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { wordingFor } from "../state/me";
import { opened, reduceAll } from "../state/reduce";
import { approval, event, expectAccessible, message, show } from "../testing/render";
import { Refusal } from "../wire/client";
import type { OpenChat } from "../wire/nouns";
import { Announcer, boundary } from "./Announcer";
import { Banner } from "./Banner";
import { Copy } from "./Copy";
import { Dialog, wantsFocus } from "./Dialog";
import { ErrorBoundary } from "./ErrorBoundary";
import { Fold, Folds } from "./Fold";
import { TextField } from "./Form";
import { matches } from "./hotkeys";
import { attempt } from "./outcomes";
import { matching, Palette } from "./Palette";
import { PaneEdge, usePaneSize } from "./PaneEdge";
import { Shortcuts } from "./Shortcuts";
import { Toaster } from "./Toaster";
import { ago, seconds, useAgo } from "./times";
import { toast, useToasts } from "./toasts";

const OWN = wordingFor({ may: () => true });
const VIEW = opened(
  {
    id: "chat",
    state: "idle",
    config: { agent_role: "planner" },
    waiting_for: { approvals: [], question: null, questions: [] },
  } as unknown as OpenChat,
  [],
  [],
  0,
);

it("announces boundaries and no streamed word", () => {
  const running = reduceAll(VIEW, [event("turn-started", 1)]);
  const speaking = reduceAll(running, [event("text-delta", 2, { message_id: "m", offset: 0, text: "Hi" })]);
  const asking = reduceAll(speaking, [event("permission-request", 3, { approval: approval() })]);
  expect(boundary(VIEW, running, OWN)).toBe("The agent is working.");
  expect(boundary(running, speaking, OWN)).toBeNull();
  expect(boundary(speaking, asking, OWN)).toContain("Approval needed: create file hello.txt");
  const note = message({ id: "note", role: "system", payload: { restore: { counts: {} } } as never });
  expect(boundary(VIEW, { ...VIEW, messages: [note] }, OWN)).toBe("The files were restored.");
  const ended = (reason: string) => boundary(speaking, reduceAll(speaking, [event("turn-ended", 9, { reason })]), OWN);
  expect([ended("answered"), ended("planned"), ended("interrupted")]).toEqual([
    "The agent has finished.",
    "A plan is ready.",
    "The agent was interrupted. You can continue.",
  ]);
});

it("announces the first wait for a model's server, and no later one of the same request", () => {
  const retry = { seconds: 11.2, until: "", attempt: 2, tries: 4, reason: "provider_rate_limited", status: 429 };
  const running = reduceAll(VIEW, [event("turn-started", 1)]);
  const first = reduceAll(running, [event("model-retry", 2, { retry })]);
  const second = reduceAll(first, [event("model-retry", 3, { retry: { ...retry, attempt: 3 } })]);
  expect(boundary(running, first, OWN)).toBe("The model server is busy (429). Trying again in 12 s (2 of 4).");
  expect(boundary(first, second, OWN)).toBeNull();
});

it("announces what a chat waits for when it is opened, and nothing where it waits for nothing", () => {
  const asking = reduceAll(VIEW, [event("permission-request", 1, { approval: approval() })]);
  const { container, rerender } = show(<Announcer view={null} />);
  rerender(<Announcer view={VIEW} />);
  expect(container.textContent).toBe("");
  rerender(<Announcer view={{ ...asking, id: "another" }} />);
  expect(container.textContent).toContain("Approval needed: create file hello.txt");
});

it("finds commands by all their words, and runs them by keyboard", async () => {
  const run = vi.fn();
  const commands = ["New chat", "Switch to Planner", "Planner notes"].map((words) => ({
    id: words,
    words,
    icon: null,
    run: () => run(words),
  }));
  expect(matching(commands, "planner").map(({ words }) => words)).toEqual(["Planner notes", "Switch to Planner"]);
  const { container } = show(<Palette open commands={commands} onClose={() => {}} />);
  await expectAccessible(container);
  await userEvent.type(screen.getByRole("combobox"), "planner{ArrowDown}{Enter}");
  expect(run).toHaveBeenCalledWith("Switch to Planner");
});

it("lists every shortcut", async () => {
  const { container } = show(<Shortcuts open onClose={() => {}} />);
  expect(screen.getByText("Stop the agent")).toBeTruthy();
  await expectAccessible(container);
});

it("leaves plain keys to text fields", () => {
  show(<input aria-label="field" />);
  const heard: boolean[] = [];
  window.addEventListener("keydown", (pressed) => heard.push(matches(pressed, "/")), { once: true });
  fireEvent.keyDown(screen.getByLabelText("field"), { key: "/" });
  window.addEventListener("keydown", (pressed) => heard.push(matches(pressed, "/")), { once: true });
  fireEvent.keyDown(document.body, { key: "/" });
  expect(heard).toEqual([false, true]);
});

it("says that the server cannot be heard, and is silent otherwise", () => {
  const { container, rerender } = show(<Banner connection="reconnecting" />);
  expect(screen.getByRole("status").textContent).toContain("Reconnecting");
  rerender(<Banner connection="live" />);
  expect(container.textContent).toBe("");
});

it("says times as people do", () => {
  expect([seconds(0.01), seconds(6.04), seconds(42.4), seconds(125)]).toEqual(["0.1 s", "6.0 s", "42 s", "2 min 5 s"]);
  const now = Date.parse("2026-01-02T00:00:00Z");
  expect([ago("2026-01-01T23:59:40Z", now), ago("2026-01-01T22:00:00Z", now), ago("nonsense", now)]).toEqual([
    "now",
    "2 h",
    "",
  ]);
});

it("lets ages move on with one timer for the page, and with none while nobody sees it", () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-02T00:00:00Z"), toFake: ["Date", "setInterval", "clearInterval"] });
  const seen = vi.spyOn(document, "hidden", "get").mockReturnValue(false);
  const turn = (hidden: boolean) => {
    seen.mockReturnValue(hidden);
    act(() => void document.dispatchEvent(new Event("visibilitychange")));
  };
  try {
    const Age = ({ iso }: { iso: string }) => <span>{useAgo(iso)} </span>;
    const { container, unmount } = show(
      <>
        <Age iso="2026-01-02T00:00:00Z" />
        <Age iso="2026-01-01T23:58:00Z" />
      </>,
    );
    expect(container.textContent).toBe("now 2 min ");
    expect(vi.getTimerCount()).toBe(1);
    act(() => vi.advanceTimersByTime(60_000));
    expect(container.textContent).toBe("1 min 3 min ");
    turn(true);
    expect(vi.getTimerCount()).toBe(0);
    act(() => vi.advanceTimersByTime(3_600_000));
    expect(container.textContent).toBe("1 min 3 min ");
    turn(false);
    expect(container.textContent).toBe("1 h 1 h ");
    expect(vi.getTimerCount()).toBe(1);
    unmount();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    seen.mockRestore();
    vi.useRealTimers();
  }
});

it("copies words, and says that it did", async () => {
  const user = userEvent.setup();
  show(<Copy text={() => "these words"} label="Copy code" />);
  await user.click(screen.getByRole("button", { name: "Copy code" }));
  expect(await navigator.clipboard.readText()).toBe("these words");
  expect(screen.getByRole("button", { name: "Copied" })).toBeTruthy();
});

it("keeps the page when a part of it breaks", () => {
  const silent = vi.spyOn(console, "error").mockImplementation(() => {});
  const Bad = () => {
    throw new Error("broken");
  };
  show(
    <div>
      <p>still here</p>
      <ErrorBoundary fallback={<p>instead</p>}>
        <Bad />
      </ErrorBoundary>
    </div>,
  );
  expect(screen.getByText("still here") && screen.getByText("instead")).toBeTruthy();
  expect(silent).toHaveBeenCalled();
});

it("unfolds again what was left unfolded under the same name", async () => {
  const left = new Map<string, boolean>();
  const fold = (name: string) => (
    <Folds value={left}>
      <Fold name={name} summary="More">
        {() => "what is inside"}
      </Fold>
    </Folds>
  );
  const first = show(fold("one"));
  await userEvent.click(screen.getByRole("button", { name: "More" }));
  first.unmount();
  const again = show(fold("one"));
  expect(again.container.textContent).toContain("what is inside");
  again.unmount();
  expect(show(fold("two")).container.textContent).not.toContain("what is inside");
});

it("begins in the first field of a dialog's form, unless another wants the focus", () => {
  const dialog = (ref?: typeof wantsFocus) => (
    <Dialog title="Settings" open onClose={() => {}}>
      <form>
        <input type="checkbox" aria-label="on" />
        <input aria-label="name" />
        <input aria-label="path" ref={ref} />
      </form>
    </Dialog>
  );
  const first = show(dialog());
  expect(document.activeElement).toBe(screen.getByLabelText("name"));
  first.unmount();
  show(dialog(wantsFocus));
  expect(document.activeElement).not.toBe(screen.getByLabelText("name")); // a browser gives it to the one that wants it
});

it("shows what it says in front of an open dialog, and on the page once that is closed", () => {
  useToasts.setState({ toasts: [] });
  const Page = () => {
    const [open, setOpen] = useState(false);
    return (
      <>
        <button type="button" onClick={() => setOpen(!open)}>
          turn
        </button>
        <Dialog title="Settings" open={open} onClose={() => {}}>
          <p>inside</p>
        </Dialog>
        <Toaster />
      </>
    );
  };
  show(<Page />);
  const turn = screen.getByText("turn");
  fireEvent.click(turn);
  const undo = vi.fn();
  act(() => toast("The files are back.", "info", { label: "Undo", run: undo }));
  expect(screen.getAllByText("The files are back.")).toHaveLength(1);
  fireEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Undo" }));
  expect(undo).toHaveBeenCalledOnce();
  act(() => toast("Another word."));
  fireEvent.click(turn);
  expect(screen.getByText("Another word.")).toBeTruthy();
});

it("calls it news, not a problem, when another tab was quicker", async () => {
  useToasts.setState({ toasts: [] });
  await attempt(Promise.reject(new Refusal(409, "already_decided", "This approval is allowed already.", null)));
  await attempt(Promise.reject(new Refusal(409, "turn_running", "A turn is running.", null)));
  expect(useToasts.getState().toasts.map(({ kind }) => kind)).toEqual(["info", "problem"]);
});

it("says the same words once, however often they are true", () => {
  useToasts.setState({ toasts: [] });
  for (const words of ["The server does not answer.", "Saved.", "The server does not answer."]) toast(words);
  expect(useToasts.getState().toasts.map(({ words }) => words)).toEqual(["Saved.", "The server does not answer."]);
});

it("announces how many calls still wait when one of several is decided", () => {
  const two = reduceAll(VIEW, [
    event("permission-request", 4, { approval: approval({ id: "a1" }) }),
    event("permission-request", 5, { approval: approval({ id: "a2" }) }),
  ]);
  const one = reduceAll(two, [event("permission-decided", 6, { approval: { id: "a1", state: "allowed" } })]);
  expect(boundary(two, one, OWN)).toBe("1 more is waiting.");
});

/** Where people write sentences, or look for something without regard to case. */
const PROSE = [
  "approvals/DenyForm",
  "chat/ChatDialogs",
  "chat/Composer",
  "chat/FindBar",
  "chat/Home",
  "chat/QueuedMessages",
  "chat/RememberDialog",
  "chat/Sidebar",
  "definitions/RoleForm", // what it is for
  "definitions/RoleForm", // its instructions
  "files/CommitForm", // what is committed
  "files/GitActions", // what is stashed
  "files/IdentityForm", // a person's name
  "fork/ForkDialog",
  "messages/PlanEditor", // what a step does
  "messages/QuestionCard",
  "schedules/StartForm", // its name
  "setup/Agents",
  "setup/Keys",
  "setup/People",
  "ui/Palette",
  "workflows/List",
];

it("leaves paths, addresses, commands and names as they are typed: every field that is not for sentences says so", () => {
  const sources = import.meta.glob<string>(["../**/*.tsx", "!../**/*.test.tsx"], {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const others = Object.entries(sources).flatMap(([path, source]) =>
    [...source.matchAll(/<(?:input|textarea)\b(?:\{[^}]*\}|=>|[^>])*>/g)]
      .map(([tag]) => tag)
      .filter((tag) => !/VERBATIM|type="(?!search|text)[\w-]+"|inputMode="(?:decimal|numeric)"/.test(tag))
      .map(() => path.replace(/^\.\.?\//, "").replace(".tsx", "")),
  );
  expect(others.map((path) => (path.includes("/") ? path : `ui/${path}`)).sort()).toEqual(PROSE);
  const { container } = show(<TextField label="Folder" value="" onChange={() => {}} />);
  expect(container.querySelector("input")!.outerHTML).toContain('autocapitalize="none"');
});

it.each([
  ["left", "files_width", "{ArrowLeft}", "{ArrowRight}"],
  ["top", "terminal_height", "{ArrowUp}", "{ArrowDown}"],
] as const)(
  "moves the %s edge of a pane by its arrow keys, within bounds, and remembers it",
  async (side, name, more, less) => {
    const Pane = () => <PaneEdge name={name} label="Size" side={side} usual={42} />;
    const Size = () => <p>{usePaneSize(name) ?? "usual"}</p>;
    show(<Pane />);
    show(<Size />);
    const edge = screen.getByRole("separator", { name: "Size" });
    expect(edge.getAttribute("aria-valuenow")).toBe("42");
    screen.getByText("usual");
    edge.focus();
    await userEvent.keyboard(more + more);
    expect(edge.getAttribute("aria-valuenow")).toBe("52");
    screen.getByText("52");
    await userEvent.keyboard(less.repeat(9));
    expect(edge.getAttribute("aria-valuenow")).toBe("25");
    await expectAccessible(document.body);
  },
);
