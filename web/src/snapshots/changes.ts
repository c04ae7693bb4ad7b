// The timeline of a chat's changes: a call's two snapshots are one change, the newest first. Pure.
import type { components } from "../wire/api.gen";

export type Snapshot = components["schemas"]["SnapshotShape"];

export interface Change {
  before: Snapshot;
  after: Snapshot | null;
}

export function changesOf(snapshots: readonly Snapshot[]): Change[] {
  const changes: Change[] = [];
  for (const snapshot of snapshots) {
    const open = changes.at(-1);
    if (snapshot.moment === "before") changes.push({ before: snapshot, after: null });
    else if (open && open.after === null && open.before.tool_call_id === snapshot.tool_call_id) open.after = snapshot;
  }
  return changes.reverse();
}
