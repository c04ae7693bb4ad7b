// A place for a component to stand in while it is looked at: roles as the server gives them, messages with sensible parts, axe.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type RenderResult, render } from "@testing-library/react";
import axe from "axe-core";
import type { ReactNode } from "react";
import { expect } from "vitest";
import { type AccessLevel, ME } from "../state/me";
import type { ToolDisplay } from "../state/tools";
import type { Approval, Message, Role, WireEvent } from "../wire/nouns";

export const ROLES = [
  {
    name: "planner",
    colour: "blue",
    icon: "magnifying-glass",
    tooltip: "Planner reads and plans.",
    permissions: ["read_files"],
  },
  {
    name: "actor",
    colour: "green",
    icon: "lightning-bolt",
    tooltip: "Actor carries out the work.",
    permissions: ["read_files", "write_files"],
  },
  {
    name: "house_elf",
    colour: "mauve",
    icon: "sock",
    tooltip: "A role of this team.",
    permissions: [],
    built_in: false,
  },
] as unknown as Role[];

const display = (kind: string, target: string[], example: object, subject = target) =>
  ({ kind, subject, target, example }) as ToolDisplay;

/** As the server describes them. */
export const TOOLS = {
  read_file: display("read", ["path"], { path: "notes/today.md" }),
  list_directory: display("list", ["path"], { path: "notes" }),
  grep: display("search", ["path"], { pattern: ".", path: "notes" }, ["pattern"]),
  ask_agent: display("ask", ["agent"], { agent: "worker", task: "look" }),
  create_file: display("create", ["path"], { path: "notes/today.md", content: "" }),
  update_file: display("change", ["path"], { path: "notes/today.md", content: "" }),
  move_file: display("move", ["path", "to"], { path: "notes/a.md", to: "archive/a.md" }),
  delete_file: display("delete", ["path"], { path: "notes/today.md" }),
  execute_command: display("run", ["command"], { command: "git status" }),
};

const SCOPES: Record<AccessLevel, string[]> = {
  admin: ["read", "send", "decide", "manage", "passthrough"],
  member: ["read", "send", "decide"],
  viewer: ["read"],
};

/** As the server says who is signed in: the owner alone, or somebody with this access among several. */
function session(access: AccessLevel | null) {
  const name = access ? "Ada" : "The owner of this server";
  return {
    name,
    access: access ?? "admin",
    owner: !access,
    shared: access !== null,
    scopes: SCOPES[access ?? "admin"],
  };
}

/** Shown to the owner alone on the server, or to a person with this access. */
export function show(node: ReactNode, access: AccessLevel | null = null): RenderResult {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: Infinity } } });
  queries.setQueryData(["roles"], { roles: ROLES });
  queries.setQueryData(ME, session(access));
  for (const [tool, display] of Object.entries(TOOLS)) queries.setQueryData(["tool", tool], display);
  return render(node, {
    wrapper: ({ children }) => <QueryClientProvider client={queries}>{children}</QueryClientProvider>,
  });
}

export function message(parts: Partial<Message> = {}): Message {
  return {
    id: "m1",
    role: "assistant",
    message_type: "text",
    content: "Hello",
    payload: null,
    agent_role: "actor",
    turn_id: "t1",
    job_id: null,
    task_id: null,
    created_at: "2026-01-02T03:04:05.000000Z",
    ...parts,
  } as Message;
}

export function approval(parts: Partial<Approval> = {}): Approval {
  return {
    id: "a1",
    batch_id: "b1",
    tool_call_id: "c1",
    tool: "create_file",
    parameters: { path: "hello.txt" },
    resource: "hello.txt",
    risk: "low",
    reasons: ["It creates a file."],
    outside_plan: false,
    proposed_rule: null,
    diff: null,
    network: [],
    held: false,
    job_id: null,
    task_id: null,
    created_at: "2026-01-02T03:04:05.000000Z",
    ...parts,
  } as Approval;
}

export function event<T extends WireEvent["type"]>(
  type: T,
  seq: number,
  body: object = {},
): Extract<WireEvent, { type: T }> {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString();
  return { seq, type, chat_id: "chat", turn_id: "t1", at, ...body } as unknown as Extract<WireEvent, { type: T }>;
}

/** No violation that jsdom can see; colours are looked at in the real browser. */
export async function expectAccessible(container: Element): Promise<void> {
  const { violations } = await axe.run(container, {
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}
