// A refusal for lack of access: what this page knows of the person may be out of date.
import type { Middleware } from "openapi-fetch";

const listeners = new Set<() => void>();

/** Calls back after each answer with 403, until the returned function is called. */
export function onForbidden(heard: () => void): () => void {
  listeners.add(heard);
  return () => void listeners.delete(heard);
}

/** The session's own answer is left out: asking for it again would not end. */
export const forbidden: Middleware = {
  onResponse({ response, schemaPath }) {
    if (response.status === 403 && schemaPath !== "/session") for (const heard of listeners) heard();
  },
};
