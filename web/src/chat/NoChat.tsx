import { PanelLeft } from "lucide-react";
import { IconButton } from "../ui/Button";
import type { Refusal } from "../wire/client";

export function NoChat({ problem, onSidebar }: { problem: Refusal; onSidebar: () => void }) {
  return (
    <main className="flex h-full min-w-0 flex-1 flex-col">
      <div className="p-2">
        <IconButton label="Show or hide the chats" onClick={onSidebar}>
          <PanelLeft size={18} aria-hidden />
        </IconButton>
      </div>
      <div className="m-auto max-w-sm px-6 pb-24 text-center">
        <h1 className="text-lg font-semibold">{problem.status === 404 ? "This chat is not here" : "This chat cannot be shown"}</h1>
        <p className="mt-2 text-sm text-ink-2">{problem.message}</p>
        <a href="#/" className="mt-5 inline-flex min-h-9 items-center rounded-lg bg-ink px-4 text-sm font-medium text-paper">
          Start a new one
        </a>
      </div>
    </main>
  );
}
