// A workflow as a form holds it, and what the server does with it.
import type { components } from "../wire/api.gen";
import { api, given } from "../wire/client";

export type WorkflowPage = components["schemas"]["WorkflowPage"];
export type WorkflowCheck = components["schemas"]["WorkflowCheck"];

/** `sha256` is of the file that is edited; null for a new one. */
export interface WorkflowDraft {
  name: string;
  content: string;
  sha256: string | null;
}

export function readWorkflow(name: string): Promise<WorkflowPage> {
  return given(api.GET("/workflows/{name}", { params: { path: { name } } }));
}

export function checkWorkflow({ name, content }: WorkflowDraft): Promise<WorkflowCheck> {
  return given(api.POST("/workflows/validate", { body: { name: name || "new", content } }));
}

export function saveWorkflow({ name, content, sha256 }: WorkflowDraft): Promise<WorkflowPage> {
  if (sha256 === null) return given(api.POST("/workflows", { body: { name, content } }));
  return given(api.PUT("/workflows/{name}", { params: { path: { name } }, body: { content, sha256 } }));
}

export function deleteWorkflow(name: string): Promise<unknown> {
  return given(api.DELETE("/workflows/{name}", { params: { path: { name } } }));
}
