// The tools of one server: which are offered to agents, and which the person vouches for as read-only.

import { t } from "../texts/mcp";
import { Checkbox } from "../ui/Field";
import type { Server } from "./McpServers";

export interface ToolChanges {
  denied?: string[];
  allowed?: string[];
  read_only?: string[];
  sampling?: boolean;
}

/** What switching this tool on or off changes. A list of allowed tools grows; without one, the denied ones are listed. Pure. */
export function offerChanges(server: Pick<Server, "allowed" | "denied">, tool: string, on: boolean): ToolChanges {
  const without = (names: readonly string[]) => names.filter((name) => name !== tool);
  const denied = on ? without(server.denied) : [...without(server.denied), tool];
  if (!on || !server.allowed) return { denied };
  return { denied, allowed: [...without(server.allowed), tool] };
}

export function readOnlyChanges(server: Pick<Server, "read_only">, tool: string, on: boolean): ToolChanges {
  const others = server.read_only.filter((name) => name !== tool);
  return { read_only: on ? [...others, tool] : others };
}

export function ServerTools({ server, onChange }: { server: Server; onChange: (changes: ToolChanges) => void }) {
  return (
    <details>
      <summary className="cursor-pointer text-ink-2 thumb:py-2.5">
        {t.toolsOf(server.name, server.tools.length)}
      </summary>
      <p className="my-1 text-xs text-ink-3">{t.readOnlyHint}</p>
      <ul className="space-y-2">
        {server.tools.map((tool) => (
          <li key={tool.name} className="rounded-lg border border-line px-3 py-2">
            <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
              <span className="min-w-0 flex-1 font-mono text-[13px] break-all">{tool.name}</span>
              <Checkbox
                label={t.offer}
                name={t.offerTool(tool.name)}
                on={tool.enabled}
                onTurn={(on) => onChange(offerChanges(server, tool.name, on))}
              />
              <Checkbox
                label={t.readOnly}
                name={t.markReadOnly(tool.name)}
                on={server.read_only.includes(tool.name)}
                onTurn={(on) => onChange(readOnlyChanges(server, tool.name, on))}
              />
            </div>
            <p className="text-xs break-words text-ink-2">{tool.description}</p>
          </li>
        ))}
      </ul>
    </details>
  );
}
