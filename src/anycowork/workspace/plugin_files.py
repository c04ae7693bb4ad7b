"""Imports a plugin: reads its folder through the jail, and copies what has its like here, so that nothing of it is looked at again."""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from anycowork.domain.agent_plugins import (
    AGENTS_REASON,
    LARGEST_MANIFEST,
    LARGEST_MARKETPLACE,
    MANIFESTS,
    MARKETPLACES,
    SERVERS_REASON,
    UNUSED_LOCATIONS,
    ImportedPlugin,
    LeftOut,
    ListedPlugin,
    PluginManifest,
    PluginPart,
    as_text,
    command_name,
    hooks_of,
    inner_path,
    paths_of,
    plain_words,
    read_manifest,
    read_marketplace,
    unused_parts,
    with_entry,
)
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid, ToolFault
from anycowork.domain.hooks import HOOKS_FILE, read_hooks
from anycowork.domain.mcp_servers import servers_in
from anycowork.domain.path_class import is_key_file
from anycowork.domain.skills import COMMAND_FILE, SKILL_FILE, Skill, SkillSource, read_command_text
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.skill_files import (
    LONGEST_TEXT,
    MOST_SKILLS,
    MOST_TOGETHER,
    copy_plain_files,
    copy_skill,
    skill_at,
    skills_below,
)

RECORD, SKILLS, COMMANDS, HOOKS, HOOK_FILES = "plugin.json", "skills", "commands", "hooks", "files"
_DEEPEST_COMMANDS = 3


class PluginReader:
    """Reads the folder of one plugin. `folder` is real: no link leads to it. What it does not import it collects in `left_out`."""

    def __init__(self, folder: Path, entry: PluginManifest | None = None) -> None:
        """Raises: Invalid if it is no plugin, ToolFault, OSError."""
        self._folder = folder
        self._jail = Jail(str(folder), is_real=True)
        self.manifest = self._manifest(entry)
        self.left_out: list[LeftOut] = []

    def copy(self, target: Path, source: str, marketplace: str) -> ImportedPlugin:
        """Copies what can be imported into this new folder. Raises: Invalid, ToolFault, OSError, StateChanged."""
        copied = [self._copy_skills(target), self._copy_commands(target), self._copy_hooks(target)]
        plugin = ImportedPlugin(
            name=self.manifest.name,
            version=self.manifest.version,
            description=self.manifest.description,
            source=source,
            marketplace=marketplace,
            agents=self._agents(),
            mcp_servers=self._servers(),
            not_imported=[*self.left_out, *unused_parts(self.manifest, self._unused())],
        )
        if not any(copied) and not plugin.agents and not plugin.mcp_servers:
            reasons = "; ".join(f"{part.what}: {part.reason}" for part in plugin.not_imported[:5])
            raise Invalid(
                f"The plugin '{plugin.name}' brings nothing that is imported here. {reasons}".strip(), param="path"
            )
        (target / RECORD).write_bytes(plugin.model_dump_json(indent=2).encode())
        return plugin

    def _manifest(self, entry: PluginManifest | None) -> PluginManifest:
        for path in MANIFESTS:
            text = text_at(self._jail, path, LARGEST_MANIFEST)
            if text is not None:
                manifest = read_manifest(text, path)
                return with_entry(manifest, entry) if entry else manifest
        if entry is not None:
            return entry
        if not any(self._has(folder) for folder in (SKILLS, COMMANDS)):
            raise Invalid(
                f"There is no {SKILL_FILE}, no plugin and no marketplace in '{self._folder}': "
                f"name a folder that has {SKILL_FILE}, plugin.json or marketplace.json.",
                param="path",
            )
        return read_manifest(as_text({"name": self._folder.name}), f"its folder {self._folder}")

    def _copy_skills(self, target: Path) -> int:
        room, copied = MOST_TOGETHER, set[str]()
        for skill in self._skills():
            room -= sum(file.size for file in skill.files)
            reason = f"{skill.problems[0].path}: {skill.problems[0].message}" if skill.problems else ""
            if skill.name in copied:
                reason = "There is another one with this name."
            if len(copied) >= MOST_SKILLS or room < 0:
                reason = f"There are more than {MOST_SKILLS} skills, or {MOST_TOGETHER:,} bytes of them."
            if reason:
                self._leave_out(skill.path, reason)
                continue
            copy_skill(self._folder / skill.path, skill, target / SKILLS / skill.name)
            copied.add(skill.name)
        return len(copied)

    def _skills(self) -> Iterator[Skill]:
        for path in self._paths("skills", SKILLS):
            if self._has(f"{path}/{SKILL_FILE}"):
                skill = skill_at(self._jail, path)
                yield from [skill] if skill else []
            else:
                yield from skills_below(str(self._folder), path, SkillSource.PLUGIN, single_names=True)

    def _copy_commands(self, target: Path) -> int:
        copied = set[str]()
        for path, below in self._markdown("commands", COMMANDS, _DEEPEST_COMMANDS):
            name, text = command_name(below), self._text_or_reason(path)
            read = read_command_text(name or "", text) if text else None
            reason = f"{read.problems[0].message}" if read and read.problems else ""
            if name is None:
                reason = "Its name must have lower-case letters, digits, and single hyphens between them."
            elif name in copied or (target / SKILLS / name).exists() or len(copied) >= MOST_SKILLS:
                reason = f"There is another one with this name, or more than {MOST_SKILLS} commands."
            if reason:
                self._leave_out(path, reason)
            if reason or not text or name is None:
                continue
            (target / COMMANDS / name).mkdir(mode=0o700, parents=True)
            (target / COMMANDS / name / COMMAND_FILE).write_text(text)
            copied.add(name)
        return len(copied)

    def _copy_hooks(self, target: Path) -> int:
        content = hooks_of(self._stated("hooks", f"{HOOKS}/{HOOKS_FILE}"))
        if not content:
            return 0
        hooks, problems = read_hooks(as_text(content), HOOKS_FILE)
        if not hooks or len(as_text(content)) > LONGEST_TEXT:
            self._leave_out(HOOKS, "; ".join(problems[:5]) or "They are too long.")
            return 0
        problem = copy_plain_files(self._folder, target / HOOKS / HOOK_FILES)
        if problem is not None:
            self._leave_out(HOOKS, f"Hooks may use every file of the plugin. {problem.path}: {problem.message}")
            return 0
        (target / HOOKS / HOOKS_FILE).write_text(as_text(content))
        return len(hooks)

    def _agents(self) -> list[PluginPart]:
        agents = [
            PluginPart(name=plain_words(Path(below).stem), about=read_command_text("", text).description[:300])
            for path, below in self._markdown("agents", "agents", 1)
            if (text := self._text_or_reason(path))
        ][:MOST_SKILLS]
        if agents:
            self._leave_out("agents", AGENTS_REASON)
        return agents

    def _servers(self) -> list[PluginPart]:
        servers = []
        for part in self._stated("mcpServers", ".mcp.json", "mcp.json"):
            config = part if isinstance(part, dict) and "mcpServers" in part else {"mcpServers": part}
            try:
                listed = servers_in(as_text(config))
            except Invalid as error:
                self._leave_out("mcpServers", error.message)
                continue
            for server in listed:
                arguments = server.config.get("args")
                command_line = [server.config.get("url") or server.config.get("command"), *_texts(arguments)]
                about = server.problem or " ".join(map(str, command_line))
                servers.append(PluginPart(name=plain_words(server.name), about=plain_words(about)))
        if servers:
            self._leave_out("mcpServers", SERVERS_REASON)
        return servers

    def _unused(self) -> list[str]:
        return [] if self.manifest.is_whole else [path for path in UNUSED_LOCATIONS if self._has(path)]

    def _stated(self, field: str, *usual: str) -> Iterator[JsonValue]:
        """Yields the objects that the manifest holds in this field, and those of the files that it names or that usually stand there."""
        stated = self.manifest.fields.get(field)
        yield from (part for part in (stated if isinstance(stated, list) else [stated]) if isinstance(part, dict))
        paths = [] if self.manifest.is_whole else [path for path in usual if self._has(path)]
        for path in dict.fromkeys([*paths, *self._paths(field, "")]):
            text = self._text_or_reason(path) if path else None
            try:
                yield read_json(text) if text else {}
            except ValueError as error:
                self._leave_out(path, f"It is not JSON that can be read: {str(error)[:200]}.")

    def _markdown(self, field: str, usual: str, deepest: int) -> Iterator[tuple[str, str]]:
        """Yields the paths of the Markdown files that the manifest names or that stand below, and each as it stands below its folder."""
        for path in self._paths(field, usual):
            if path.endswith(".md"):
                yield path, path.rsplit("/", 1)[-1]
            else:
                yield from ((f"{path}/{below}", below) for below in self._files_below(path, deepest))

    def _files_below(self, folder: str, deepest: int) -> Iterator[str]:
        try:
            names = self._jail.names(_location(folder))[: 2 * MOST_SKILLS]
        except (ToolFault, OSError):
            return
        for name in names:
            if name.endswith(".md") and name != "README.md":
                yield name
            elif deepest > 1:
                yield from (f"{name}/{below}" for below in self._files_below(f"{folder}/{name}", deepest - 1))

    def _paths(self, field: str, usual: str) -> list[str]:
        unusable: list[str] = []
        paths = paths_of(self.manifest, field, usual, unusable)
        for path in unusable:
            self._leave_out(path or field, "It is no file or folder inside the plugin.")
        return paths[:MOST_SKILLS]

    def _text_or_reason(self, path: str) -> str | None:
        try:
            return text_at(self._jail, path, LONGEST_TEXT)
        except Invalid as error:
            self._leave_out(path, error.message)
        return None

    def _has(self, path: str) -> bool:
        try:
            return self._jail.stat(_location(path)) is not None
        except (ToolFault, OSError):
            return False

    def _leave_out(self, part: str, reason: str) -> None:
        if len(self.left_out) < 2 * MOST_SKILLS:
            self.left_out.append(LeftOut(what=plain_words(shown(part)), reason=plain_words(reason)))


def marketplace_in(folder: Path) -> tuple[str, list[ListedPlugin]] | None:
    """Returns what a marketplace in this folder lists; None if there is none. Raises: Invalid, ToolFault, OSError."""
    jail = Jail(str(folder), is_real=True)
    for path in MARKETPLACES:
        text = text_at(jail, path, LARGEST_MARKETPLACE)
        if text is not None:
            return read_marketplace(text, path)
    return None


def folder_named(path: Path) -> Path:
    """Returns the folder of the plugin or marketplace that a person named, by the folder or by its file. Raises: OSError."""
    real = path.resolve(strict=True)
    if real.is_dir():
        return real
    for inner in (*MARKETPLACES, *MANIFESTS):
        if str(real).endswith(f"/{inner}") and "/" in inner:
            return real.parents[inner.count("/")]
    return real.parent


def text_at(jail: Jail, path: str, most: int) -> str | None:
    """Returns the text of a file of a plugin; None if there is none. Raises: Invalid if it is no plain file or too long."""
    location = _location(path)
    try:
        if inner_path(path) is None or jail.stat(location) is None:
            return None
        with jail.regular_file(location) as (fd, status):
            if is_key_file(path):
                raise Invalid(f"{path} is a key file.", param="path")
            if status.st_nlink > 1:
                raise Invalid(f"{path} has another name elsewhere (a hard link): put a copy there.", param="path")
            if status.st_size > most:
                raise Invalid(f"{path} is larger than {most:,} bytes.", param="path")
            return os.read(fd, most).decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Invalid(f"{path} is not UTF-8 text.", param="path") from None
    except (ToolFault, OSError) as error:
        raise Invalid(f"{path} cannot be read: {os_reason(error)}.", param="path") from None


def _location(path: str) -> WorkspacePath:
    return WorkspacePath(tuple(filter(None, path.split("/"))))


def _texts(stated: JsonValue) -> list[str]:
    return [text for text in stated if isinstance(text, str)] if isinstance(stated, list) else []
