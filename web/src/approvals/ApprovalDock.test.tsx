import { act, fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { PAUSE_MS, useTypedText } from "../composer/typedText";
import { approval, expectAccessible, show } from "../testing/render";
import type { Approval } from "../wire/nouns";
import { ApprovalDock } from "./ApprovalDock";
import { ALONE_MS, GUARD_MS } from "./keys";

let now = 1e9; // long after all that was typed before
beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => vi.useRealTimers());

function dock(...approvals: Approval[]) {
  const onDecide = vi.fn(() => Promise.resolve(true));
  const shown = show(
    <>
      <ApprovalDock approvals={approvals} onDecide={onDecide} />
      <textarea aria-label="elsewhere" />
    </>,
  );
  now += GUARD_MS + 1;
  return { ...shown, onDecide };
}

/** Once the card has the focus, unless it is pressed elsewhere; and nothing follows. */
const press = (key: string, on?: Element) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const card = screen.getByLabelText("Approvals");
  act(() => {
    if (!on) card.focus();
    fireEvent.keyDown(on ?? card, { key });
    vi.advanceTimersByTime(ALONE_MS);
  });
  vi.useRealTimers();
};
const TWO = [
  approval({ id: "a" }),
  approval({ id: "b", tool: "execute_command", parameters: { command: "rm -r x" }, risk: "high" }),
] as const;

it("says which of many is decided next, and leads to the others", () => {
  dock(...TWO);
  const place = within(screen.getByLabelText("Approvals")).getByRole("status");
  expect(place.textContent).toBe("1 of 2: Create hello.txt");
  expect(screen.getByRole("button", { name: "Previous call" })).toHaveProperty("disabled", true);
  fireEvent.click(screen.getByRole("button", { name: "Next call" }));
  expect(place.textContent).toBe("2 of 2: Run rm -r x");
  expect(screen.getByText("high risk")).toBeTruthy();
  press("ArrowUp");
  expect(place.textContent).toContain("1 of 2");
});

it("leaves the focus on the page once all is decided", () => {
  const room = (approvals: Approval[]) => (
    <div id="main" tabIndex={-1}>
      <ApprovalDock approvals={approvals} onDecide={() => Promise.resolve(true)} />
    </div>
  );
  const { rerender } = show(room([TWO[0]]));
  screen.getByRole("button", { name: /^Allow once/ }).focus();
  rerender(room([]));
  expect(document.activeElement?.id).toBe("main");
});

// proves UI-2/4
it("names tool, thing, risk and reason", async () => {
  const { container } = dock(TWO[1]);
  for (const words of ["Run", "rm -r x", "high risk", "It creates a file."])
    expect(screen.getByText(words)).toBeTruthy();
  await expectAccessible(container);
});

it.each([
  ["a mark that turns words round", "echo \u202Esafe", "echo ⟨U+202E⟩safe"],
  ["a letter without width", "r\u200Bm x", "r⟨U+200B⟩m x"],
  ["a terminal's order", "echo \u001B[2Jx", "echo ⟨U+001B⟩[2Jx"],
  ["a second line", "true\nrm -r x", "true\nrm -r x"],
])("shows %s in a command", (_, command, seen) => {
  dock(approval({ tool: "execute_command", parameters: { command } }));
  const code = screen.getByText((__, element) => element?.tagName === "CODE" && element.textContent === seen);
  expect(code.className).toContain("whitespace-pre-wrap");
});

it("shows what is hidden in a change", () => {
  dock(approval({ diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\u2066 // \u202Eeurt\n" }));
  expect(screen.getByText("new⟨U+2066⟩ // ⟨U+202E⟩eurt")).toBeTruthy();
});

it("says of changes that wait that the command has run, and shows them", () => {
  dock(
    approval({
      tool: "execute_command",
      parameters: { command: "make" },
      held: true,
      reasons: ["It has run, and its changes are waiting for your approval."],
      diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n",
    }),
  );
  expect(screen.getByText("Keep what it changed?")).toBeTruthy();
  expect(screen.getAllByText(/It has run/)).toHaveLength(1);
  expect(screen.getByText(/It has run. Its changes wait for your decision/)).toBeTruthy();
  expect(screen.getByLabelText("What it changed")).toBeTruthy();
});

it("says where a command goes over the network", async () => {
  const { container } = dock(
    approval({
      tool: "execute_command",
      parameters: { command: "curl x" },
      network: ["example.org:443", "example.org:80"],
      reasons: [
        "It runs a command, in the sandbox.",
        "It can send data to example.org:443, example.org:80, and receive instructions from there.",
      ],
    }),
  );
  expect(screen.getAllByText(/example.org:443/)).toHaveLength(1);
  expect(screen.getByText("It can send data there, and receive instructions from there.")).toBeTruthy();
  expect(screen.getByText("It runs a command, in the sandbox.")).toBeTruthy();
  const hosts = within(screen.getByRole("list", { name: "It wants to connect to:" })).getAllByRole("listitem");
  expect(hosts.map(({ textContent }) => textContent)).toEqual(["example.org:443", "example.org:80"]);
  await expectAccessible(container);
});

it("does not lead to Deny with Escape", () => {
  dock(TWO[0]);
  press("Escape");
  expect(screen.queryByLabelText("Message to the agent")).toBeNull();
});

/** A browser in which nothing is in view until `scroll` says so. */
function unscrolled() {
  const tell: (() => void)[] = [];
  class Watch {
    constructor(private readonly on: (entries: { isIntersecting: boolean }[]) => void) {}
    observe = () => void tell.push(() => this.on([{ isIntersecting: true }]));
    disconnect = () => {};
  }
  vi.stubGlobal("IntersectionObserver", Watch);
  return () => act(() => tell.splice(0).forEach((one) => one()));
}

// proves OPS-7/7
it("waits with allowing, by pointer and by key, until all of it was in view", async () => {
  const scroll = unscrolled();
  const { onDecide, container } = dock(
    approval({
      proposed_rule: { tool: "create_file", resource: "/*", effect: "allow" },
      disclosure: {
        hash: "h",
        total: 1,
        items: [{ kind: "tool", text: "create_file", detail: "", step: "", control: false }],
      },
    }),
  );
  for (const name of [/^Allow once/, /^Allow in this chat/, /^Always allow/])
    expect(screen.getByRole("button", { name })).toHaveProperty("disabled", true);
  expect(screen.getByText(/Scroll to the end before you allow it/)).toBeTruthy();
  for (const key of ["y", "Enter", "Y"]) press(key);
  expect(onDecide).not.toHaveBeenCalled();
  await expectAccessible(container);
  scroll();
  press("y");
  expect(onDecide).toHaveBeenCalledWith([{ id: "a1", decision: "allow_once", disclosure: "h" }]);
  vi.unstubAllGlobals();
});

it("lists every changed path, control files marked, and waits for those on later pages", async () => {
  const entry = { kind: "path" as const, detail: "created", step: "" };
  const path = (text: string, control = false) => ({ ...entry, text, control });
  const onDecide = vi.fn(() => Promise.resolve(true));
  const waits = approval({
    held: true,
    tool: "execute_command",
    parameters: { command: "make" },
    disclosure: { hash: "h", total: 3, items: [path(".vscode/tasks.json", true), path("a")] },
  });
  show(<ApprovalDock approvals={[waits]} onDecide={onDecide} onMore={() => Promise.resolve([path("last")])} />);
  expect(screen.getByText("control file")).toBeTruthy();
  expect([screen.queryByText(/^(Allow|Deny)/), screen.getByText("Discard").tagName]).toEqual([null, "BUTTON"]);
  const keep = screen.getByRole("button", { name: "Keep changes" });
  expect(keep).toHaveProperty("disabled", true);
  await userEvent.click(screen.getByRole("button", { name: "Show 1 more" }));
  expect(await screen.findByText("last")).toBeTruthy();
  await vi.waitFor(() => expect(keep).toHaveProperty("disabled", false));
});

it("draws every line and file of what would change, wrapped", () => {
  const long = Array.from({ length: 400 }, (_, n) => `+line ${n}`).join("\n");
  dock(
    approval({
      diff: `--- /dev/null\n+++ b/x\n@@ -0,0 +1,400 @@\n${long}\n--- /dev/null\n+++ b/run\u202Egnp.sh\nmode 755, a program\n`,
    }),
  );
  expect(screen.getByText("line 399").parentElement!.className).toContain("whitespace-pre-wrap");
  expect(screen.getByText("run⟨U+202E⟩gnp.sh")).toBeTruthy();
  expect(screen.getByText("mode 755, a program")).toBeTruthy();
  expect(screen.queryByText(/Show all/)).toBeNull();
});

it("allows with a key", async () => {
  const { onDecide } = dock(...TWO);
  press("y");
  expect(onDecide).toHaveBeenCalledWith([{ id: "a", decision: "allow_once" }]);
});

it("moves between approvals and allows the one it stands on", () => {
  const { onDecide } = dock(...TWO);
  press("ArrowDown");
  press("y");
  expect(onDecide).toHaveBeenCalledWith([{ id: "b", decision: "allow_once" }]);
});

it("shows all of them first, and allows all with the next key", () => {
  const { onDecide } = dock(...TWO);
  expect(screen.getByRole("button", { name: /^Show all 2/ })).toBeTruthy();
  press("Y");
  expect(onDecide).not.toHaveBeenCalled();
  expect(screen.getByRole("button", { name: /^Allow all 2/ })).toBeTruthy();
  press("Y");
  expect(onDecide).toHaveBeenCalledWith([
    { id: "a", decision: "allow_once" },
    { id: "b", decision: "allow_once" },
  ]);
});

it("denies with a word to the agent", async () => {
  const { onDecide } = dock(TWO[0]);
  press("n");
  await userEvent.type(screen.getByLabelText("Message to the agent"), "use notes.md{Enter}");
  expect(onDecide).toHaveBeenCalledWith([{ id: "a", decision: "deny", note: "use notes.md" }]);
});

it("shows the rule of a lasting denial before it is saved, for one call alone", async () => {
  const rule = { tool: "create_file", resource: "/hello.txt", effect: "deny", scope: "workspace" };
  const one = approval({ id: "a", proposed_deny_rule: rule as never });
  const { onDecide, container } = dock(one);
  press("n");
  expect(screen.getByText(/saves a rule: The agent may never create hello\.txt/)).toBeTruthy();
  await expectAccessible(container);
  await userEvent.type(screen.getByLabelText("Message to the agent"), "never");
  await userEvent.click(screen.getByRole("button", { name: "Always deny" }));
  expect(onDecide).toHaveBeenCalledWith([{ id: "a", decision: "deny_always", note: "never" }]);
});

it("offers no lasting denial of several calls, or where no rule can name the call", () => {
  dock(approval({ id: "a" }));
  press("n");
  expect(screen.queryByRole("button", { name: "Always deny" })).toBeNull();
});

it("decides nothing while someone writes", () => {
  const { onDecide } = dock(TWO[0]);
  for (const place of [screen.getByLabelText("elsewhere"), document.body])
    for (const key of ["y", "Y", "Enter", "n", "Escape"]) press(key, place);
  expect(onDecide).not.toHaveBeenCalled();
  expect(screen.queryByLabelText("Message to the agent")).toBeNull();
});

// proves UI-15/2
it("takes a letter that begins a word for a word, also in the card that has the focus", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const onDecide = vi.fn(() => Promise.resolve(true));
  show(
    <>
      <ApprovalDock approvals={[TWO[0]]} onDecide={onDecide} />
      <textarea id="composer" aria-label="Message" />
    </>,
  );
  now += GUARD_MS + 1;
  const card = screen.getByLabelText("Approvals");
  act(() => {
    card.focus();
    fireEvent.keyDown(card, { key: "y" });
    vi.advanceTimersByTime(ALONE_MS - 1);
    fireEvent.keyDown(card, { key: "o" });
    vi.advanceTimersByTime(ALONE_MS);
  });
  expect(onDecide).not.toHaveBeenCalled();
  expect(screen.getByLabelText("Message")).toHaveProperty("value", "y");
  expect(document.activeElement).toBe(screen.getByLabelText("Message"));
});

// proves UI-15/2
it("decides nothing by a letter within a second of typing", () => {
  const { onDecide } = dock(TWO[0]);
  show(<Typing />);
  now += PAUSE_MS;
  fireEvent.input(screen.getByLabelText("elsewhere"), { target: { value: "I" } });
  now += PAUSE_MS - 1;
  press("y");
  expect(onDecide).not.toHaveBeenCalled();
  now += PAUSE_MS;
  press("y");
  expect(onDecide).toHaveBeenCalledOnce();
});

function Typing() {
  useTypedText();
  return null;
}

it("decides nothing right after something new appeared", () => {
  const { onDecide } = dock(TWO[0]);
  now -= GUARD_MS;
  press("y");
  expect(onDecide).not.toHaveBeenCalled();
});

it("does not take the focus, and names no risk that is not high", () => {
  dock(approval({ risk: "medium" }));
  expect(document.activeElement).toBe(document.body);
  expect(screen.queryByText(/risk/)).toBeNull(); // a mark that is always there says nothing
});

it("offers standing answers only with the rule they would make", () => {
  const { unmount } = dock(TWO[0]);
  expect(screen.queryByRole("button", { name: "Always allow" })).toBeNull();
  unmount();
  dock(approval({ proposed_rule: { tool: "create_file", resource: "/*", effect: "allow" } }));
  expect(screen.getByRole("button", { name: "Always allow" })).toBeTruthy();
  expect(screen.getByText(/save a rule: The agent may create any file/)).toBeTruthy();
});

it("says what the rule is about, which may be another tool than the call's: reading a key file", () => {
  const proposed_rule = { tool: "read_file", resource: "/.env", effect: "allow" };
  dock(approval({ tool: "execute_command", parameters: { command: "cat .env" }, proposed_rule }));
  expect(screen.getByText(/save a rule: The agent may read \.env/)).toBeTruthy();
});

it("says each rule that a standing answer saves: of the hosts too, and as endorsements after what nobody vouched for", () => {
  const proposed_rule = { tool: "execute_command", resource: "curl x", effect: "allow" };
  const asked = { tool: "execute_command", parameters: { command: "curl x" }, network: ["x.org:443"], proposed_rule };
  const saved = () => screen.getByText(/^These two save/).textContent;
  const { unmount } = dock(approval(asked));
  expect(saved()).toMatch(
    /^These two save 2 rules: The agent may run “curl x”; The agent may connect to x.org:443. You can remove them/,
  );
  unmount();
  const sink = { kind: "network", subject: "x.org:443" };
  const endorsement = { origins: ["workspace", "web:a.org"], passage: "x", sink, sinks: [sink] };
  const { unmount: next } = dock(approval({ ...asked, endorsement } as never));
  const after = "The agent may connect to x.org:443, also after it read";
  expect(saved()).toMatch(/^These two save 3 rules: The agent may run “curl x”; /);
  expect(saved()).toContain(`; ${after} files of this folder; ${after} a page of a.org.`);
  next();
  const push = { kind: "push", subject: "git.org" };
  dock(approval({ ...asked, network: [], endorsement: { ...endorsement, sink: push, sinks: [push] } } as never));
  expect(saved()).toMatch(
    /^These two save 2 rules: The agent may run “curl x”, also after it read files of this folder; /,
  );
});

it("shows all of the one that is decided next, and the others in a line each", () => {
  const diff = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+made\n";
  dock(
    approval({ id: "a", diff }),
    approval({ id: "later", parameters: { path: "later.txt" }, diff, outside_plan: true }),
    TWO[1],
  );
  expect(screen.getAllByLabelText("What would change")).toHaveLength(1);
  expect(screen.getByText("not in the plan")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: /rm -r x/ }));
  expect(screen.queryByLabelText("What would change")).toBeNull();
  expect(screen.getByRole("button", { name: /later.txt/ })).toBeTruthy();
});

it("lets no double click decide about the call that comes next", () => {
  const { onDecide } = dock(...TWO);
  fireEvent.click(screen.getByRole("button", { name: /^Allow once/ }), { detail: 2 });
  expect(onDecide).not.toHaveBeenCalled();
  fireEvent.click(screen.getByRole("button", { name: /^Allow once/ }), { detail: 1 });
  expect(onDecide).toHaveBeenCalledOnce();
});

it("tells a member for whom a standing answer counts, and who can take it back", async () => {
  const rule = { tool: "create_file", resource: "/a.txt", effect: "allow" };
  const asked = approval({ proposed_rule: rule, proposed_deny_rule: { ...rule, effect: "deny" } });
  show(<ApprovalDock approvals={[asked]} onDecide={vi.fn()} />, "member");
  expect(screen.getByText(/for everybody, in this chat or in this folder: .* An admin can remove it\./)).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: /^Deny/ }));
  expect(screen.getByText(/for everybody in this folder: .* An admin can remove it\./)).toBeTruthy();
  expect(screen.queryByText(/Settings → Permissions/)).toBeNull();
});

it("lists every parameter of a call that has several, also the one that the heading shows", () => {
  const parameters = { account: "DE02", amount: "10" };
  const items = Object.entries(parameters).map(([detail, text]) => ({ kind: "parameter", text, detail }));
  dock(approval({ tool: "bank__send", parameters, resource: "DE02", disclosure: { items, total: 2 } } as never));
  const given = screen.getByLabelText("All that send (bank) was given");
  expect(given.textContent).toContain("DE02");
  expect(given.textContent).toContain("10");
});
