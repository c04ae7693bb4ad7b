import { ArrowRight } from "lucide-react";
import { t } from "../texts/rules";
import type { components } from "../wire/api.gen";
import { EffectMark } from "./EffectMark";

export type Preview = components["schemas"]["PreviewResponse"];

const SHOWN = 20;

/** What a rule would have decided so far; what it would have changed stands first. */
export function Foreseen({ preview }: { preview: Preview }) {
  const changed = preview.calls.filter(({ decided, would }) => decided !== would);
  const shown = [...changed, ...preview.calls.filter(({ decided, would }) => decided === would)].slice(0, SHOWN);
  return (
    <div role="status" className="space-y-2 text-sm">
      <p className="text-ink-2">{t.wouldHaveDecided(preview.matched, preview.looked_at, changed.length)}</p>
      {preview.warnings.map((warning) => (
        <p key={warning} className="text-warn">
          {warning}
        </p>
      ))}
      {shown.length > 0 && (
        <ul className="divide-y divide-line rounded-xl border border-line">
          {shown.map((call) => (
            <li key={call.id} className="flex items-center gap-2 px-3 py-1.5">
              <code className="min-w-0 flex-1 truncate font-mono text-[12.5px]" title={call.resource}>
                {call.tool} {call.resource.replace(/^command:/, "")}
              </code>
              {call.decided !== call.would && (
                <>
                  <EffectMark effect={call.decided} />
                  <ArrowRight size={13} aria-label={t.becomes} className="shrink-0 text-ink-3" />
                </>
              )}
              <EffectMark effect={call.would} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
