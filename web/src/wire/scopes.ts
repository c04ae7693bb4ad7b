// Which scope the server requires for each request that the page sends to change something, or that not everybody may read.
// tests/unit/test_web_scopes.py compares this table with the server's routes and with what the page sends.

export type Scope = "send" | "decide" | "manage";

export const REQUIRED = {
  "POST /context": "send",
  "PATCH /context/{chat_id}": "send",
  "DELETE /context/{chat_id}": "send",
  "POST /context/{chat_id}/messages": "send",
  "PATCH /context/{chat_id}/queue/{queued_id}": "send",
  "DELETE /context/{chat_id}/queue/{queued_id}": "send",
  "POST /context/{chat_id}/stop": "send",
  "POST /context/{chat_id}/fork": "send",
  "POST /context/{chat_id}/jobs": "send",
  "POST /attachments/pdf": "send",
  "POST /workflows/{name}/execute": "send",
  "POST /jobs/{job_id}/cancel": "send",
  "POST /context/{chat_id}/continue": "decide",
  "POST /context/{chat_id}/compact": "decide",
  "DELETE /context/{chat_id}/compact": "decide",
  "PUT /context/{chat_id}/role": "decide",
  "POST /context/{chat_id}/approvals": "decide",
  "POST /context/{chat_id}/questions/{message_id}/answer": "decide",
  "POST /context/{chat_id}/plans/{message_id}/approve": "decide",
  "POST /context/{chat_id}/snapshots/{snapshot_id}/restore": "decide",
  "GET /context/{chat_id}/file": "decide",
  "PUT /context/{chat_id}/file": "decide",
  "POST /context/{chat_id}/changes/revert": "decide",
  "POST /context/{chat_id}/git/commit": "decide",
  "POST /context/{chat_id}/git/branch": "decide",
  "POST /context/{chat_id}/git/push": "decide",
  "POST /workspaces/worktrees": "decide",
  "POST /jobs/{job_id}/pause": "decide",
  "POST /jobs/{job_id}/resume": "decide",
  "POST /jobs/{job_id}/retry": "decide",
  "POST /jobs/{job_id}/commit": "decide",
  "POST /jobs/{job_id}/drop": "decide",
  "POST /jobs/{job_id}/forget": "decide",
  "POST /workspaces": "manage",
  "PUT /settings": "manage",
  "GET /context/{chat_id}/person-commands": "manage",
  "POST /context/{chat_id}/person-commands": "manage",
  "POST /context/{chat_id}/person-commands/{command_id}/stop": "manage",
} as const satisfies Record<string, Scope>;

/** A request by its method and path, as the server describes it. */
export type Operation = keyof typeof REQUIRED;
