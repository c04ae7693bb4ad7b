// Tools of third parties: which are installed, which are switched on, and why one cannot be used.

import { useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { Check, CircleAlert, Minus } from "lucide-react";
import { useState } from "react";
import * as acts from "../state/acts";
import { useSettings } from "../state/queries";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { Outcomes } from "../ui/Outcomes";
import { attempt } from "../ui/outcomes";
import type { Plugin } from "../wire/nouns";

export function Plugins() {
  const { data: settings } = useSettings(0); // one may have been installed meanwhile
  const queries = useQueryClient();
  const [busy, setBusy] = useState<string | null>(null);
  if (!settings) return null;
  const found = settings.plugins_found;
  const turn = async ({ name, on }: Plugin) => {
    setBusy(name);
    const others = found.filter((one) => one.on && one.name !== name).map((one) => one.name);
    await attempt(acts.changeSettings({ plugins: on ? others : [...others, name] }));
    await queries.invalidateQueries({ queryKey: ["settings"] });
    setBusy(null);
  };
  if (found.length === 0) return <Nothing />;
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface">
      {found.map((plugin) => (
        <Line
          key={plugin.name}
          plugin={plugin}
          busy={busy === plugin.name}
          disabled={busy !== null}
          onTurn={() => void turn(plugin)}
        />
      ))}
    </ul>
  );
}

function Nothing() {
  return (
    <p className="rounded-2xl border border-dashed border-line-strong px-4 py-3 text-sm text-ink-2">
      {t.noPluginIsInstalledA}
    </p>
  );
}

interface Props {
  plugin: Plugin;
  busy: boolean;
  disabled: boolean;
  onTurn: () => void;
}

function Line({ plugin, busy, disabled, onTurn }: Props) {
  return (
    <li className="px-4 py-3.5">
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium break-all">{plugin.name}</span>
        {plugin.version !== null && <span className="text-xs text-ink-3">{plugin.version}</span>}
        <State plugin={plugin} />
        {/* it stays in reach while it works: who pressed it by key keeps the focus */}
        <Button
          className="ml-auto"
          aria-label={`${plugin.name}: ${plugin.on ? t.switchOff : t.switchOn}`}
          aria-disabled={disabled}
          onClick={() => !disabled && onTurn()}
        >
          {busy ? t.oneMoment : plugin.on ? t.switchOff2 : t.switchOn2}
        </Button>
      </div>
      {plugin.problems.length > 0 && (
        <ul aria-label={t.whatIsWrongWith(plugin.name)} className="mt-1 space-y-1 text-sm text-ink-2">
          {plugin.problems.map((problem) => (
            <li key={problem} lang="en" className="break-words">
              {problem}
            </li>
          ))}
        </ul>
      )}
      <Outcomes className="mt-2" />
    </li>
  );
}

function State({ plugin: { on, version, tools, problems } }: { plugin: Plugin }) {
  const failed = on && tools === 0 && problems.length > 0;
  const words = version === null ? t.notInstalled : failed ? t.pluginFailed : on ? t.tools(tools) : t.pluginOff;
  const wrong = version === null || problems.length > 0;
  const Icon = wrong ? CircleAlert : on ? Check : Minus;
  return (
    <span
      className={clsx(
        "inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium",
        wrong ? "bg-warn-soft text-warn" : on ? "bg-good-soft text-good" : "bg-sunken text-ink-2",
      )}
    >
      <Icon size={12} aria-hidden />
      {words}
    </span>
  );
}
