// Free text whose paths lead to the files. A path outside of the workspace stays text.
import { type ReactNode, useMemo } from "react";
import { useLive } from "../state/live";
import { PathLink } from "./PathLink";
import { partsOf, type TextKind } from "./pathsInText";

export function TextWithPaths({ text, kind }: { text: string; kind: TextKind }) {
  const workspace = useChatWorkspace();
  const parts = useMemo(() => (workspace ? partsOf(text, kind) : [{ text }]), [text, kind, workspace]);
  return parts.map(({ text: words, path, line }, at) =>
    path && isWithin(path, workspace) ? (
      <PathLink key={at} path={path} line={line ?? null}>
        {words}
      </PathLink>
    ) : (
      words
    ),
  );
}

/** A link whose target is a path; `otherwise` if it is none. */
export function LinkToFile({ target, words, otherwise }: { target: string; words: ReactNode; otherwise: ReactNode }) {
  const workspace = useChatWorkspace();
  const [first, ...more] = partsOf(target, "code", 1);
  if (!workspace || !first?.path || more.length > 0 || !isWithin(first.path, workspace)) return otherwise;
  return (
    <PathLink path={first.path} line={first.line ?? null}>
      {words}
    </PathLink>
  );
}

function useChatWorkspace(): string {
  return useLive(({ chatId, workspace }) => (chatId ? workspace : ""));
}

function isWithin(path: string, workspace: string): boolean {
  return !path.startsWith("/") || path.startsWith(`${workspace}/`);
}
