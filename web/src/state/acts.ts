// What a person can do in a chat, each one request. The answer is seen through the events; here only a refusal comes back.

import { setPreference } from "../browser/preferences";
import type { ProviderChange } from "../setup/ProviderEdit";
import type { NewProvider } from "../setup/ProviderForm";
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";
import type { Answer, Budget, Chat, Decision, DisclosedItem, PlanEdits, PlanStep } from "../wire/nouns";
import type { Autonomy } from "./reduce";

const at = (chat_id: string) => ({ path: { chat_id } });

export interface Decided {
  id: string;
  decision: Decision;
  note?: string;
  /** The hash of what was shown. */
  disclosure?: string;
  /** The rule of a standing answer, where the person changed the proposed one. */
  rule?: components["schemas"]["DecisionRule"];
}

export async function newChat(wish: { workspace?: string; agent_role?: string; model?: string }): Promise<Chat> {
  const chat = await given(api.POST("/context", { body: wish as never }));
  if (wish.workspace) setPreference("folder", wish.workspace);
  if (wish.model) setPreference("model", wish.model);
  return chat;
}

export interface SentImage {
  media_type: "image/png" | "image/jpeg" | "image/webp" | "image/gif";
  data: string;
  name: string;
}

/** A text file, whole. */
export interface SentFile {
  name: string;
  content: string;
}

export async function send(
  chatId: string,
  content: string,
  images: readonly SentImage[] = [],
  files: readonly SentFile[] = [],
): Promise<void> {
  const body = {
    content,
    ...(images.length > 0 && { images: images.map(({ media_type, data, name }) => ({ media_type, data, name })) }),
    ...(files.length > 0 && { attachments: files.map(({ name, content }) => ({ name, content })) }),
  };
  await given(api.POST("/context/{chat_id}/messages", { params: at(chatId), body: body as never }));
}

/** Queues a message while the agent works, or with `now` gives it to the running turn. An idle chat sends it at once. */
export async function queue(chatId: string, content: string, when: "idle" | "now"): Promise<void> {
  await given(api.POST("/context/{chat_id}/messages", { params: at(chatId), body: { content, when } as never }));
}

export async function changeQueued(
  chatId: string,
  queuedId: string,
  wish: { content: string } | { when: "now" },
): Promise<void> {
  const params = { path: { chat_id: chatId, queued_id: queuedId } };
  await given(api.PATCH("/context/{chat_id}/queue/{queued_id}", { params, body: wish }));
}

export async function removeQueued(chatId: string, queuedId: string): Promise<void> {
  const params = { path: { chat_id: chatId, queued_id: queuedId } };
  await given(api.DELETE("/context/{chat_id}/queue/{queued_id}", { params }));
}

export type ExportFormat = "markdown" | "json" | "html";

/** The whole chat as a file, and the name that the server gave it. */
export async function exportChat(chatId: string, format: ExportFormat): Promise<{ file: Blob; name: string }> {
  const params = { path: { chat_id: chatId }, query: { format } };
  const asked = api.GET("/context/{chat_id}/export", { params, parseAs: "blob" });
  const file = (await given(asked as never)) as Blob;
  const told = (await asked).response.headers.get("content-disposition") ?? "";
  return { file, name: /filename="([^"]+)"/.exec(told)?.[1] ?? `chat.${format === "markdown" ? "md" : format}` };
}

export async function stop(chatId: string): Promise<void> {
  await given(api.POST("/context/{chat_id}/stop", { params: at(chatId) }));
}

/** Goes on where the last turn stopped; nothing is sent again. */
export async function continueTurn(chatId: string): Promise<void> {
  await given(api.POST("/context/{chat_id}/continue", { params: at(chatId) }));
}

/** Drops a plan that waits or stopped, or a turn that could be continued. */
export async function dismiss(chatId: string): Promise<void> {
  await given(api.POST("/context/{chat_id}/dismiss", { params: at(chatId) }));
}

/** Shows the agent a value of this message that is hidden from models. */
export async function reveal(chatId: string, messageId: string, number: number): Promise<void> {
  const params = { path: { chat_id: chatId, message_id: messageId } };
  await given(api.POST("/context/{chat_id}/messages/{message_id}/reveal", { params, body: { number } }));
}

/** The model goes on from a digest of the record; nothing is deleted. */
export async function compact(chatId: string): Promise<void> {
  await given(api.POST("/context/{chat_id}/compact", { params: at(chatId) }));
}

export async function undoCompaction(chatId: string): Promise<void> {
  await given(api.DELETE("/context/{chat_id}/compact", { params: at(chatId) }));
}

export async function switchRole(chatId: string, role: string, confirm: boolean): Promise<void> {
  await given(
    api.PUT("/context/{chat_id}/role", {
      params: { path: { chat_id: chatId } },
      body: { role: role as never, confirm },
    }),
  );
}

/** The standing rules that the decisions made; for a call with network also those about where it goes. */
export async function decide(chatId: string, decisions: Decided[]): Promise<readonly unknown[]> {
  const { approvals } = await given(
    api.POST("/context/{chat_id}/approvals", { params: at(chatId), body: { decisions } }),
  );
  return approvals.flatMap((decided) => decided.rules ?? []); // left out where none was made
}

/** What allowing a call grants, beyond the first page that came with the approval. */
export async function restOfDisclosure(
  chatId: string,
  approvalId: string,
  have: number,
): Promise<readonly DisclosedItem[]> {
  const items: DisclosedItem[] = [];
  for (let total = have + 1; have + items.length < total; ) {
    const params = { path: { chat_id: chatId, approval_id: approvalId }, query: { after: have + items.length } };
    const page = await given(api.GET("/context/{chat_id}/approvals/{approval_id}/disclosure", { params }));
    if (page.items.length === 0) break;
    items.push(...page.items);
    total = page.total;
  }
  return items;
}

export async function answer(chatId: string, messageId: string, given_: Answer): Promise<void> {
  const params = { path: { chat_id: chatId, message_id: messageId } };
  await given(api.POST("/context/{chat_id}/questions/{message_id}/answer", { params, body: given_ }));
}

export async function approvePlan(
  chatId: string,
  messageId: string,
  edits: PlanEdits | null,
  run: "chat" | "job",
  disclosure: string | null = null,
): Promise<void> {
  const params = { path: { chat_id: chatId, message_id: messageId } };
  const shown = disclosure ? { disclosure } : {};
  const body = edits
    ? { steps: edits.steps.map(asJson), budget: named(edits.budget), run, ...shown }
    : { run, ...shown };
  await given(api.POST("/context/{chat_id}/plans/{message_id}/approve", { params, body: body as never }));
}

export async function changeChat(
  chatId: string,
  change: {
    title?: string;
    model?: string;
    autonomy?: Autonomy;
    pinned?: boolean;
    archived?: boolean;
    visibility?: string;
  },
): Promise<Chat> {
  const chat = await given(api.PATCH("/context/{chat_id}", { params: { path: { chat_id: chatId } }, body: change }));
  if (change.model) setPreference("model", change.model);
  return chat;
}

/** Vouches for the contents of a folder, or no longer; or says who sees it. */
export async function changeWorkspace(
  workspace_id: string,
  change: { trusts_contents: boolean } | { visibility: string } | { check: string },
): Promise<void> {
  await given(api.PATCH("/workspaces/{workspace_id}", { params: { path: { workspace_id } }, body: change }));
}

/** Takes a folder off the list; its files and chats stay. */
export async function removeWorkspace(workspace_id: string): Promise<void> {
  await given(api.DELETE("/workspaces/{workspace_id}", { params: { path: { workspace_id } } }));
}

export async function removeChat(chatId: string): Promise<void> {
  await given(api.DELETE("/context/{chat_id}", { params: { path: { chat_id: chatId } } }));
}

export async function registerWorkspace(root: string): Promise<string> {
  return (await given(api.POST("/workspaces", { body: { root } as never }))).root;
}

/** Exactly this content of this file; no hash takes the trust back. */
export async function trust(workspace: string, path: string, sha256: string | null, chatId?: string): Promise<void> {
  const said = chatId ? { context_id: chatId } : {};
  await given(api.POST("/workspaces", { body: { trust: { workspace, path, sha256, ...said } } }));
}

export async function runWorkflow(
  chatId: string,
  name: string,
  parameters: Record<string, string | boolean>,
): Promise<void> {
  const params = { path: { name } };
  await given(api.POST("/workflows/{name}/execute", { params, body: { context_id: chatId, parameters } }));
}

export async function changeSettings(changes: Record<string, unknown>): Promise<void> {
  await given(api.PUT("/settings", { body: changes as never }));
}

export async function connectProvider(provider: NewProvider): Promise<void> {
  await given(api.POST("/providers", { body: provider }));
}

export async function changeProvider(name: string, change: ProviderChange): Promise<void> {
  await given(api.PATCH("/providers/{name}", { params: { path: { name } }, body: change as never }));
}

/** A real request; a failure is an answer too, with the reason. */
export async function testProvider(name: string): Promise<{ ok: boolean; message: string }> {
  return given(api.POST("/providers/{name}/test", { params: { path: { name } } }));
}

export async function removeProvider(name: string): Promise<void> {
  await given(api.DELETE("/providers/{name}", { params: { path: { name } } }));
}

/** Only what is limited; an empty budget limits nothing. */
function named(budget: Budget): Record<string, number> {
  return Object.fromEntries(Object.entries(budget).filter((part): part is [string, number] => part[1] !== null));
}

function asJson(step: PlanStep): Record<string, unknown> {
  const { id, check, ...rest } = step;
  return { ...rest, ...(id ? { id } : {}), ...(check ? { check } : {}) };
}
