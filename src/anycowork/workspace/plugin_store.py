"""The plugins that people imported into the data folder: what each brought, and what of it a person trusted. Blocking."""

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from anycowork.config.secure_files import write_private_file
from anycowork.domain.agent_plugins import ImportedPlugin, LeftOut, ListedPlugin, PluginManifest
from anycowork.domain.errors import AnyCoworkError, Conflict, Invalid, NotFound, StateChanged, StorageFault, ToolFault
from anycowork.domain.hooks import HOOKS_FILE, Hook, read_hooks
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.skills import Skill, SkillSource
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.plugin_files import (
    COMMANDS,
    HOOK_FILES,
    HOOKS,
    RECORD,
    SKILLS,
    PluginReader,
    folder_named,
    marketplace_in,
)
from anycowork.workspace.remove_folder import remove_folder
from anycowork.workspace.skill_files import OF_COMMANDS, OF_HOOKS, OF_SKILLS, read_skill_folder, skills_below

PLUGINS = "agent-plugins"  # `plugins` holds Python distributions with tools
MOST_PLUGINS = 100
_RECORDS = "skills.json"
_Records = dict[str, dict[str, str]]
_records = TypeAdapter(_Records)


@value
class PluginHooks:
    """The hooks of a plugin. `folder` holds the files that the trust in them covers: all that the plugin has."""

    file: SuppliedFile
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]
    folder: Skill


@value
class InstalledPlugin:
    """`skills` are the names of its skills and commands."""

    record: ImportedPlugin
    skills: tuple[str, ...]
    hooks: PluginHooks | None


@value
class PluginImport:
    """What an import came to. `problems` tells which plugins of a marketplace were not imported, and why."""

    marketplace: str
    plugins: tuple[InstalledPlugin, ...]
    problems: tuple[LeftOut, ...]


class TrustRecords:
    """Which content of the data folder's skills and plugins a person trusted, by its path."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / _RECORDS

    def trusted(self) -> dict[str, str]:
        """Returns the hashes. A file that cannot be read trusts nothing."""
        try:
            return _records.validate_json(self._file.read_bytes()).get("trusted", {})
        except (OSError, ValidationError):
            return {}

    def set(self, path: str, sha256: str | None) -> None:
        """Raises: StorageFault."""
        others = {key: trusted for key, trusted in self.trusted().items() if key != path}
        self._write({**others, **({path: sha256} if sha256 else {})})

    def forget_below(self, path: str) -> None:
        """Raises: StorageFault."""
        self._write({key: sha256 for key, sha256 in self.trusted().items() if not key.startswith(f"{path}/")})

    def _write(self, trusted: dict[str, str]) -> None:
        if trusted != self.trusted():
            write_private_file(self._file, _records.dump_json({"trusted": trusted}, indent=2))


class PluginStore:
    """Looks at the files each time, so that trust takes effect at once; reads only what changed."""

    def __init__(self, data_dir: Path, records: TrustRecords) -> None:
        self._data_dir = data_dir
        self._folder = data_dir / PLUGINS
        self._records = records

    def skills(self, texts_of: str | None = None) -> list[Skill]:
        """Returns the skills and commands of all plugins, named after them: `plugin:skill`."""
        return [skill for plugin in self._names() for skill in self._skills(plugin, texts_of)]

    def plugins(self) -> list[InstalledPlugin]:
        return [plugin for name in self._names() if (plugin := self._plugin(name)) is not None]

    def require(self, name: str, *, with_texts: bool = False) -> InstalledPlugin:
        """Raises: NotFound."""
        plugin = self._plugin(name, with_texts=with_texts) if name in self._names() else None
        if plugin is None:
            raise NotFound("plugin", name[:80])
        return plugin

    def hooks(self) -> list[PluginHooks]:
        return [hooks for name in self._names() if (hooks := self._hooks(name)) is not None]

    def add(self, path: Path, only: Collection[str], skill_names: Collection[str]) -> PluginImport:
        """Imports the plugin that lies there, or those of the marketplace: all that lie beside it, or these alone. `skill_names` are
        names that no plugin gets. Raises: Invalid, Conflict, StorageFault."""
        try:
            folder = folder_named(path)
            marketplace = marketplace_in(folder)
            if marketplace is not None:
                return self._add_listed(folder, *marketplace, only, skill_names)
            return PluginImport("", (self._add(folder, str(folder), "", None, skill_names),), ())
        except (ToolFault, OSError) as error:
            raise Invalid(f"'{path}' cannot be read: {os_reason(error)}.", param="path") from error

    def remove(self, name: str) -> None:
        """Removes all that the plugin brought, and the trust in it. Raises: NotFound, StorageFault."""
        if name not in self._names():
            raise NotFound("skill or plugin in the data folder", name[:80])
        try:
            remove_folder(str(self._folder / name))
        except OSError as error:
            raise StorageFault(f"{self._folder / name} cannot be deleted ({error.strerror}).") from error
        self._records.forget_below(f"{PLUGINS}/{name}")

    def _add_listed(
        self,
        folder: Path,
        marketplace: str,
        listed: list[ListedPlugin],
        only: Collection[str],
        skill_names: Collection[str],
    ) -> PluginImport:
        added, problems = list[InstalledPlugin](), list[LeftOut]()
        for plugin in listed:
            name = plugin.manifest.name
            if only and name not in only:
                continue
            try:
                if plugin.folder is None:
                    raise Invalid(f"{plugin.problem} It is from {plugin.source or 'nowhere'}.")
                plugin_folder = (folder / plugin.folder).resolve(strict=True)
                if not plugin_folder.is_relative_to(folder):
                    raise Invalid("It leads out of the marketplace.")
                added.append(self._add(plugin_folder, str(plugin_folder), marketplace, plugin.manifest, skill_names))
            except (AnyCoworkError, OSError) as error:
                message = error.message if isinstance(error, AnyCoworkError) else os_reason(error)
                problems.append(LeftOut(what=name, reason=message))
        problems += [
            LeftOut(what=name, reason="The marketplace does not list it.")
            for name in only
            if all(plugin.manifest.name != name for plugin in listed)
        ]
        if not added:
            reasons = "; ".join(f"{problem.what}: {problem.reason}" for problem in problems[:5])
            raise Invalid(f"No plugin of this marketplace was imported. {reasons}".strip(), param="path")
        return PluginImport(marketplace, tuple(added), tuple(problems))

    def _add(
        self, folder: Path, source: str, marketplace: str, entry: PluginManifest | None, skill_names: Collection[str]
    ) -> InstalledPlugin:
        """Raises: Invalid, Conflict, StorageFault, ToolFault, OSError."""
        reader = PluginReader(folder, entry)
        name, names = reader.manifest.name, self._names()
        if name in names or name in skill_names:
            kind = "plugin" if name in names else "skill"
            raise Conflict(f"There is a {kind} '{name}' in the data folder already. Remove it first.")
        if len(names) >= MOST_PLUGINS:
            raise Invalid(f"There are {MOST_PLUGINS} plugins, the most there can be. Remove one first.", param="path")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._folder) as temporary:
            copy = Path(temporary, name)
            copy.mkdir(mode=0o700)
            try:
                reader.copy(copy, source, marketplace)
            except StateChanged as error:
                raise Conflict(error.message) from None
            self._records.forget_below(f"{PLUGINS}/{name}")
            copy.rename(self._folder / name)
        return self.require(name)

    def _names(self) -> list[str]:
        try:
            entries = [entry for entry in self._folder.iterdir() if not entry.name.startswith(".") and entry.is_dir()]
        except OSError:
            return []
        return sorted(entry.name for entry in entries)

    def _plugin(self, name: str, *, with_texts: bool = False) -> InstalledPlugin | None:
        try:
            record = ImportedPlugin.model_validate_json((self._folder / name / RECORD).read_bytes())
        except (OSError, ValidationError):
            record = ImportedPlugin(name=name)
        names = tuple(skill.name for skill in self._skills(name, None))
        return InstalledPlugin(record, names, self._hooks(name, with_texts=with_texts))

    def _skills(self, plugin: str, texts_of: str | None) -> Iterator[Skill]:
        inner = texts_of.removeprefix(f"{plugin}:") if texts_of and texts_of.startswith(f"{plugin}:") else None
        for folder, kind in ((SKILLS, OF_SKILLS), (COMMANDS, OF_COMMANDS)):
            below = f"{PLUGINS}/{plugin}/{folder}"
            for skill in skills_below(str(self._data_dir), below, SkillSource.PLUGIN, texts_of=inner, kind=kind):
                yield replace(skill, name=f"{plugin}:{skill.name}")

    def _hooks(self, plugin: str, *, with_texts: bool = False) -> PluginHooks | None:
        folder, path = self._folder / plugin / HOOKS, f"{PLUGINS}/{plugin}/{HOOKS}"
        read = read_skill_folder(folder, OF_HOOKS, with_texts=with_texts) if folder.is_dir() else None
        if read is None:
            return None
        trusted = None if read.problems else self._records.trusted().get(path)
        file = SuppliedFile(
            f"{path}/{HOOKS_FILE}",
            None if read.problems else read.content,
            read.sha256,
            trusted=trusted == read.sha256,
            changed=trusted is not None and trusted != read.sha256,
            fault=read.problems[0].message if read.problems else None,
        )
        hooks, problems = read_hooks(read.content, file.path, str(folder / HOOK_FILES))
        return PluginHooks(file, tuple(hooks), tuple(problems), replace(read, path=path))
