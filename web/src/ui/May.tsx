import type { ReactNode } from "react";
import { useMay } from "../state/me";
import type { Operation } from "../wire/scopes";

/** Shows its children only to a person who may do this; to everybody where nothing is asked for. */
export function May({ needs, children }: { needs?: Operation | undefined; children: ReactNode }) {
  return needs ? <Asked needs={needs}>{children}</Asked> : children;
}

function Asked({ needs, children }: { needs: Operation; children: ReactNode }) {
  return useMay(needs) ? children : null;
}
