// The nouns as the wire has them: generated where the server describes them, read leniently where they come inside a payload.
// A payload is written by a model or was stored long ago: nothing in it is trusted to be there.
import type { components } from "./api.gen";

type Schemas = components["schemas"];

export type WireEvent = Schemas["EventEnvelope"];
export type Chat = Schemas["ChatResponse"];
export type OpenChat = Schemas["OpenChat"];
export type ChatState = Schemas["ChatState"];
export type EndReason = Extract<WireEvent, { type: "turn-ended" }>["reason"];
export type Approval = Schemas["ApprovalResponse"];
export type DecidedCall = Schemas["DecidedCallResponse"];
export type Disclosure = Schemas["DisclosureResponse"];
export type DisclosedItem = Schemas["DisclosedItemResponse"];
export type Decision = Schemas["Decision"];
export type Role = Schemas["RoleResponse"];
export type Supplied = Schemas["SuppliedResponse"];
export type Instructions = Schemas["InstructionsResponse"];
export type Plugin = Schemas["PluginResponse"];
export type Workflow = Schemas["WorkflowResponse"];
export type Parameter = Schemas["ParameterResponse"];
export type FileFault = Schemas["FileFaultResponse"];
export type Queued = Schemas["QueuedMessageResponse"];
export type SearchResults = Schemas["SearchResults"];
export type SearchResult = Schemas["SearchResultResponse"];
export type Message = Schemas["MessageResponse"] & { reasoning?: string | null };

/** What a person set for one model; null: what is known of it holds. */
export type ModelSettings = components["schemas"]["ModelSettingsResponse"];

/** Who sees what is sent to a model server. */
export type Privacy = Schemas["ProviderResponse"]["privacy"];

export interface Provider {
  name: string;
  kind: string;
  base_url: string | null;
  models: string[];
  /** Those of them that can be shown images. */
  images: string[];
  /** Models that cannot be shown images. */
  no_images: string[];
  /** Whether a model of which nothing is known is shown images. */
  tries_images: boolean;
  model_settings: Readonly<Record<string, ModelSettings>>;
  privacy: Privacy;
  /** It was connected here, and can be changed and removed. */
  changeable: boolean;
  default: boolean;
  /** The model that it is asked for where a chat names none; null where another provider is the default. */
  default_model: string | null;
  status: string;
  /** What the status does not tell, in the server's words. */
  detail: string | null;
}

/** A well-known server that can be connected by name. */
export interface Preset {
  name: string;
  title: string;
  kind: "openai" | "anthropic";
  base_url: string;
  key_url: string | null;
  needs_key: boolean;
}

export interface PlanStep {
  id: string;
  action: string;
  reason: string;
  tools_needed: string[];
  estimated_time: string;
  dependencies: string[];
  paths: string[];
  commands: string[];
  check: string | null;
  /** Calls of servers' tools that it grants, as the plan writes them. */
  calls?: readonly unknown[];
  /** Who does it: an agent by its name, or any in this role. */
  agent?: string;
  role?: string;
  /** Labels that the worker must offer, and tasks of a job that were done before this plan. */
  needs?: readonly string[];
  builds_on?: readonly string[];
  /** What the server checks when the step is done: `output notes.md`, `protected src/**`, `read a.md`, `no_change`. */
  expect: string[];
}

/** How much a plan's run may use before it asks; null: as much as it needs. */
export interface Budget {
  calls: number | null;
  seconds: number | null;
  tokens: number | null;
  cost: number | null;
}

/** A plan as the person changed it before approving. */
export interface PlanEdits {
  steps: PlanStep[];
  budget: Budget;
}

export interface Plan {
  goal: string;
  steps: PlanStep[];
  estimated_total_time: string;
  risks: string[];
  prerequisites: string[];
  budget: Budget;
}

export type Severity = "critical" | "major" | "minor";

export interface Question {
  question: string;
  context: string;
  severity: Severity;
  options: { label: string; value: string; description: string }[];
  default: string | null;
  allow_custom: boolean;
  conflict: FileConflict | null;
}

/** A person's answer to a question; `content` is a file that was merged by hand. */
export type Answer = { value: string; content?: string } | { custom: string };

/** Both versions of a file that a task and somebody else changed; null where there is no file. */
export interface FileConflict {
  path: string;
  task: string | null;
  workspace: string | null;
  /** Both changes in one text, with marks where they meet; null if they cannot be merged by hand. */
  draft: string | null;
}

export interface Review {
  summary: string;
  findings: { path: string; line: number | null; severity: Severity; problem: string; suggestion: string }[];
}

/** An image that came with a message. */
export interface Picture {
  name: string;
  width: number;
  height: number;
}

export type ResultStatus = "ok" | "error" | "refused" | "denied" | "interrupted" | "cancelled";

export interface ToolResult {
  tool_call_id: string | null;
  tool: string;
  status: ResultStatus;
  error: Fault | null;
  diff: string | null;
  facts: Record<string, unknown>;
  hidden: readonly string[]; // the kinds of values that look like secrets: no model is told them
}

export interface Fault {
  code: string;
  message: string;
  retryable: boolean;
}

// --- reading

type Loose = Record<string, unknown>;

export function loose(value: unknown): Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

export function readPlan(value: unknown): Plan | null {
  const plan = loose(value);
  const steps = list(plan["steps"]).map((step, at) => readStep(step, at + 1));
  if (steps.length === 0) return null;
  return {
    goal: text(plan["goal"]),
    steps,
    estimated_total_time: text(plan["estimated_total_time"]),
    risks: texts(plan["risks"]),
    prerequisites: texts(plan["prerequisites"]),
    budget: readBudget(plan["budget"]),
  };
}

function readBudget(value: unknown): Budget {
  const budget = loose(value);
  const amount = (of: unknown) => (typeof of === "number" && of > 0 ? of : null);
  return {
    calls: amount(budget["calls"]),
    seconds: amount(budget["seconds"]),
    tokens: amount(budget["tokens"]),
    cost: amount(budget["cost"]),
  };
}

function readStep(value: unknown, number: number): PlanStep {
  const step = loose(value);
  return {
    id: text(step["id"]) || String(number),
    action: text(step["action"]),
    reason: text(step["reason"]),
    tools_needed: texts(step["tools_needed"]),
    estimated_time: text(step["estimated_time"]),
    dependencies: texts(step["dependencies"]),
    paths: texts(step["paths"]),
    commands: texts(step["commands"]),
    check: text(step["check"]) || null,
    ...(list(step["calls"]).length > 0 ? { calls: list(step["calls"]) } : {}),
    ...(text(step["agent"]) ? { agent: text(step["agent"]) } : {}),
    ...(text(step["role"]) ? { role: text(step["role"]) } : {}),
    ...(texts(step["needs"]).length > 0 ? { needs: texts(step["needs"]) } : {}),
    ...(texts(step["builds_on"]).length > 0 ? { builds_on: texts(step["builds_on"]) } : {}),
    expect: texts(step["expect"]),
  };
}

export function readQuestion(value: unknown): Question | null {
  const asked = loose(value);
  if (!text(asked["question"])) return null;
  return {
    question: text(asked["question"]),
    context: text(asked["context"]),
    severity: severity(asked["severity"]),
    options: list(asked["options"]).map((option) => {
      const { label, value: worth, description } = loose(option);
      return { label: text(label), value: text(worth), description: text(description) };
    }),
    default: text(asked["default"]) || null,
    allow_custom: asked["allow_custom"] === true,
    conflict: readConflict(asked["conflict"]),
  };
}

function readConflict(value: unknown): FileConflict | null {
  const found = loose(value);
  if (!text(found["path"])) return null;
  const side = (one: unknown) => (typeof one === "string" ? one : null);
  return {
    path: text(found["path"]),
    task: side(found["task"]),
    workspace: side(found["workspace"]),
    draft: side(found["draft"]),
  };
}

export function readReview(value: unknown): Review | null {
  const review = loose(value);
  if (!text(review["summary"])) return null;
  return {
    summary: text(review["summary"]),
    findings: list(review["findings"]).map((found) => {
      const { path, line, severity: grave, problem, suggestion } = loose(found);
      return {
        path: text(path),
        line: typeof line === "number" ? line : null,
        severity: severity(grave),
        problem: text(problem),
        suggestion: text(suggestion),
      };
    }),
  };
}

const STATUSES: readonly string[] = ["ok", "error", "refused", "denied", "interrupted", "cancelled"];

export function readToolResult(value: unknown): ToolResult | null {
  const result = loose(value);
  const status = text(result["status"]);
  if (!STATUSES.includes(status)) return null;
  return {
    tool_call_id: text(result["tool_call_id"]) || null,
    tool: text(result["tool"]),
    status: status as ResultStatus,
    error: readFault(result["error"]),
    diff: text(result["diff"]) || null,
    facts: loose(result["facts"]),
    hidden: list(result["hidden_values"]).map(text),
  };
}

/** A command that the person ran for themselves. `ended` is null in the record of its start. */
export interface PersonCommand {
  id: string;
  command: string;
  ended: string | null;
  exitCode: number | null;
  seconds: number | null;
  output: string;
  files: number | null;
  snapshot: string | null;
  noUndo: string | null;
  terminal: boolean;
}

export function readPersonCommand(message: Pick<Message, "role" | "payload">): PersonCommand | null {
  const found = message.role === "system" ? loose(loose(message.payload)["person_command"]) : {};
  if (!text(found["id"])) return null;
  const numeric = (value: unknown) => (typeof value === "number" ? value : null);
  return {
    id: text(found["id"]),
    command: text(found["command"]),
    ended: text(found["ended"]) || null,
    exitCode: numeric(found["exit_code"]),
    seconds: numeric(found["seconds"]),
    output: text(found["output"]),
    files: numeric(found["files"]),
    snapshot: text(found["snapshot"]) || null,
    noUndo: text(found["no_undo"]) || null,
    terminal: found["terminal"] === true,
  };
}

export function readFault(value: unknown): Fault | null {
  const fault = loose(value);
  if (!text(fault["message"])) return null;
  return { code: text(fault["code"]), message: text(fault["message"]), retryable: fault["retryable"] === true };
}

/** Those that came with a person's message, in their order: the place of each is its address. */
export function readPictures(payload: unknown): Picture[] {
  const side = (value: unknown) => (typeof value === "number" && value > 0 ? value : 1);
  return list(loose(payload)["images"]).map((image) => {
    const { name, width, height } = loose(image);
    return { name: text(name), width: side(width), height: side(height) };
  });
}

/** The text files that came with a person's message. */
export function readAttachedFiles(payload: unknown): { name: string; content: string }[] {
  return list(loose(payload)["attachments"])
    .map((file) => ({ name: text(loose(file)["name"]), content: text(loose(file)["content"]) }))
    .filter(({ name }) => name);
}

/** A message of the queue, as an event tells of it; `status` says what became of it. */
export function readQueued(value: unknown): (Queued & { status: string }) | null {
  const found = loose(value);
  if (!text(found["id"])) return null;
  return {
    id: text(found["id"]),
    content: text(found["content"]),
    steer: found["steer"] === true,
    created_at: text(found["created_at"]),
    status: text(found["status"]),
  };
}

export function readProvider(value: unknown): Provider {
  const found = loose(value);
  return {
    name: text(found["name"]),
    kind: text(found["kind"]),
    base_url: text(found["base_url"]) || null,
    models: texts(found["models"]),
    images: texts(found["images"]),
    no_images: texts(found["no_images"]),
    tries_images: found["tries_images"] === true,
    model_settings: loose(found["model_settings"]) as Record<string, ModelSettings>,
    privacy: text(found["privacy"]) as Privacy,
    changeable: found["changeable"] === true,
    default: found["default"] === true,
    default_model: text(found["default_model"]) || null,
    status: text(found["status"]),
    detail: text(found["detail"]) || null,
  };
}

export function text(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : "";
}

function texts(value: unknown): string[] {
  return list(value).map(text).filter(Boolean);
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function severity(value: unknown): Severity {
  return value === "critical" || value === "major" ? value : "minor";
}
