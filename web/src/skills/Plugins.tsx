// Plugins that were added: what each brought, what of it was not imported, and the button that trusts its hooks.

import { useQueryClient } from "@tanstack/react-query";
import { visible } from "../content/visible";
import { t } from "../texts/skills";
import { t as workflows } from "../texts/workflows";
import { Fold } from "../ui/Fold";
import { type LeftOut, PLUGINS, type Plugin, SKILLS, trustPlugin, usePluginPage, usePlugins } from "./queries";
import { Entry, FilesToTrust, Standing } from "./SkillLine";

export function Plugins() {
  const { data: plugins } = usePlugins();
  if (!plugins?.length) return null;
  return (
    <ul
      aria-label={t.plugins}
      className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-surface"
    >
      {plugins.map((plugin) => (
        <PluginLine key={plugin.name} plugin={plugin} />
      ))}
    </ul>
  );
}

function PluginLine({ plugin }: { plugin: Plugin }) {
  const queries = useQueryClient();
  const { name, version, source, skills, hooks, agents, mcp_servers: servers } = plugin;
  const readAgain = async () => {
    await Promise.all([SKILLS, PLUGINS, ["hooks"]].map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
  return (
    <Entry
      entry={plugin}
      title={visible(name)}
      mark={<span className="text-ink-3">{t.pluginVersion(visible(version))}</span>}
      origin={t.pluginFrom}
      place={source}
      removeAbout={t.removePluginAbout}
      onRemoved={readAgain}
    >
      {skills.length > 0 && (
        <p className="mt-1 break-words text-ink-2">{t.pluginSkills(skills.map(visible).join(", "))}</p>
      )}
      <LeftOutList
        label={t.listedOnly(name)}
        parts={[...agents, ...servers].map((part) => ({ what: part.name, reason: part.about }))}
      />
      <LeftOutList label={t.notImported} parts={plugin.not_imported} />
      {hooks && (
        <>
          <p className="mt-2 flex flex-wrap items-center gap-2">
            {t.hooks} <Standing skill={hooks} />
          </p>
          <Fold className="mt-1 -ml-1.5" summary={hooks.trusted ? t.files : t.readAndTrustHooks}>
            {() => <HookFiles name={name} hooks={hooks} onTold={readAgain} />}
          </Fold>
        </>
      )}
    </Entry>
  );
}

interface OfHooks {
  name: string;
  hooks: NonNullable<Plugin["hooks"]>;
  onTold: () => Promise<void>;
}

function HookFiles({ name, hooks, onTold }: OfHooks) {
  const { data: page, isPending } = usePluginPage(name, hooks.sha256);
  if (isPending) return <p className="py-1 text-ink-3">{workflows.reading}</p>;
  if (page?.hooks?.sha256 !== hooks.sha256)
    return <p className="py-1 break-words text-ink-2">{t.cannotShow(hooks.path)}</p>;
  return (
    <FilesToTrust
      files={page.files}
      sha256={hooks.sha256}
      trusted={hooks.trusted}
      usable={hooks.problems.length === 0}
      trust={(hash) => trustPlugin(name, hash)}
      onTold={onTold}
    />
  );
}

/** What of a plugin or marketplace was not imported, and why. */
export function LeftOutList({ label, parts }: { label: string; parts: readonly LeftOut[] }) {
  if (parts.length === 0) return null;
  return (
    <div className="mt-2 text-ink-2">
      <p className="text-ink-3">{label}</p>
      <ul aria-label={label} className="space-y-1">
        {parts.map(({ what, reason }) => (
          <li key={`${what}:${reason}`} lang="en" className="break-words">
            <code className="font-mono text-[13px] break-all">{visible(what)}</code> {visible(reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}
