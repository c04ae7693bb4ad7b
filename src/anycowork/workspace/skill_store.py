"""The skills and hooks that a chat can have, from the data folder, from plugins and from the workspace, and which of them a person
trusted."""

import asyncio
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from anycowork.domain.errors import Conflict, ContentChanged, Invalid, StateChanged, StorageFault, ToolFault
from anycowork.domain.hooks import Hook, read_hooks
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.skills import SKILL_FILE, Skill, SkillProblem, SkillSource
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import os_reason
from anycowork.workspace.plugin_store import InstalledPlugin, PluginHooks, PluginImport, PluginStore, TrustRecords
from anycowork.workspace.skill_files import copy_skill, read_skill_folder, skills_below
from anycowork.workspace.trusted_files import TrustedFileStore

SKILLS = "skills"
OF_WORKSPACE = (".agents/skills", ".claude/skills")


class SkillStore:
    """Looks at the files each time, so that changes and trust take effect at once; reads only what changed.

    What a person trusts in a workspace is stored with the folder; of the data folder's own skills it stands in a file beside them.
    """

    def __init__(self, *, files: TrustedFileStore, data_dir: Path) -> None:
        self._files = files
        self._data_dir = data_dir
        self._records = TrustRecords(data_dir)
        self._plugins = PluginStore(data_dir, self._records)
        self._changing = asyncio.Lock()

    async def skills(self, workspace: str, *, texts_of: str | None = None) -> tuple[Skill, ...]:
        """Returns the skills for chats in this folder; that named `texts_of` with the texts of its files. Of two with one name, the
        data folder's holds, then a plugin's, then the nearer one."""
        skills = await asyncio.to_thread(self._read, workspace, texts_of)
        if not any(skill.source is SkillSource.WORKSPACE for skill in skills):
            return _without_doubles(skills)
        trusted = await self._files.trusted_hashes()
        judged = (
            _judged(skill, trusted.get(Path(workspace, skill.path))) if skill.source is SkillSource.WORKSPACE else skill
            for skill in skills
        )
        return _without_doubles(judged)

    async def find(self, workspace: str, name: str) -> Skill | None:
        """Returns the skill of this name that holds."""
        return next((skill for skill in await self.skills(workspace) if skill.name == name), None)

    async def plugins(self) -> list[InstalledPlugin]:
        return await asyncio.to_thread(self._plugins.plugins)

    async def plugin(self, name: str) -> InstalledPlugin:
        """Returns it with the texts of the files that its hooks may use. Raises: NotFound."""
        return await asyncio.to_thread(lambda: self._plugins.require(name, with_texts=True))

    async def plugin_hooks(self) -> list[PluginHooks]:
        return await asyncio.to_thread(self._plugins.hooks)

    async def trust_hooks(self, plugin: InstalledPlugin, sha256: str | None) -> None:
        """Trusts the hooks of a plugin, with exactly these files of it; None takes the trust back. Raises: ContentChanged, Invalid,
        StorageFault."""
        if plugin.hooks is None:
            raise Invalid(f"The plugin '{plugin.record.name}' has no hooks.", param="hash")
        await self.trust("", plugin.hooks.folder, sha256)

    async def add(self, folder: str, only: Collection[str] = ()) -> Skill | PluginImport:
        """Copies the skill, the plugin or the plugins of the marketplace of this folder into the data folder; nobody trusts them yet.

        `only` are the plugins of a marketplace that are wanted. Raises: Invalid, Conflict, StorageFault."""
        async with self._changing:
            return await asyncio.to_thread(self._add, Path(folder), only)

    async def remove(self, name: str) -> None:
        """Removes a skill of the data folder, or a plugin with all that it brought. Raises: NotFound, StorageFault."""
        async with self._changing:
            await asyncio.to_thread(self._remove, name)

    async def trust(self, workspace: str, skill: Skill, sha256: str | None) -> None:
        """Trusts exactly this content; None takes the trust back. Raises: ContentChanged, Invalid, StorageFault."""
        if sha256 is not None and skill.problems:
            problem = skill.problems[0]
            raise Invalid(f"The skill '{skill.name}' cannot be used: {problem.path}: {problem.message}", param="hash")
        if sha256 is not None and skill.sha256 != sha256:
            raise ContentChanged(
                f"The skill '{skill.name}' is not what was shown (its hash is {skill.sha256} now). Read it again, then trust it."
            )
        if skill.source is SkillSource.WORKSPACE:
            await self._files.set_trust(workspace, skill.path, sha256)
            return
        async with self._changing:
            await asyncio.to_thread(self._records.set, skill.path, sha256)

    def _read(self, workspace: str, texts_of: str | None) -> list[Skill]:
        """All that there are; those of the data folder and of plugins are judged. Blocking."""
        skills = self._own(texts_of)
        if skills:
            trusted = self._records.trusted()
            skills = [_judged(skill, trusted.get(skill.path)) for skill in skills]
        of_workspace = [
            skill
            for folder in OF_WORKSPACE
            for skill in skills_below(workspace, folder, SkillSource.WORKSPACE, texts_of=texts_of)
        ]
        return [*skills, *of_workspace]

    def _own(self, texts_of: str | None = None) -> list[Skill]:
        skills = skills_below(str(self._data_dir), SKILLS, SkillSource.DATA, texts_of=texts_of)
        return [*skills, *self._plugins.skills(texts_of)]

    def _add(self, folder: Path, only: Collection[str]) -> Skill | PluginImport:
        skill = read_skill_folder(folder) if (folder / SKILL_FILE).exists() else None
        if skill is None:
            skill_names = [stored.name for stored in self._own() if stored.source is SkillSource.DATA]
            return self._plugins.add(folder, only, skill_names)
        if skill.problems:
            problem = skill.problems[0]
            line = f":{problem.line}" if problem.line else ""
            raise Invalid(f"The skill cannot be used: {problem.path}{line}: {problem.message}", param="path")
        target = self._data_dir / SKILLS / skill.name
        if target.exists() or any(plugin.record.name == skill.name for plugin in self._plugins.plugins()):
            raise Conflict(f"There is a skill or plugin '{skill.name}' in the data folder already. Remove it first.")
        try:
            copy_skill(folder, skill, target)
        except StateChanged as error:
            raise Conflict(error.message) from None
        except (ToolFault, OSError) as error:
            raise StorageFault(f"The skill '{skill.name}' could not be copied: {os_reason(error)}.") from error
        path = f"{SKILLS}/{skill.name}"
        self._records.set(path, None)
        return replace(skill, path=path)

    def _remove(self, name: str) -> None:
        skill = next(filter(lambda stored: (stored.name, stored.source) == (name, SkillSource.DATA), self._own()), None)
        if skill is None:
            self._plugins.remove(name)
            return
        folder = self._data_dir / SKILLS / skill.name
        try:
            folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
        except OSError as error:
            raise StorageFault(f"{folder} cannot be deleted ({error.strerror}).") from error
        self._records.set(skill.path, None)


def _judged(skill: Skill, trusted: str | None) -> Skill:
    if trusted is None or skill.problems:
        return skill
    return replace(skill, trusted=trusted == skill.sha256, changed=trusted != skill.sha256)


def _without_doubles(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    """Leaves the first of each name as it is; the others tell which one they would hide."""
    first: dict[str, Skill] = {}
    doubles: list[Skill] = []
    for skill in skills:
        holding = first.setdefault(skill.name, skill)
        if holding is not skill:
            problem = SkillProblem(f"The skill '{skill.name}' of {holding.path} holds instead: rename this one.")
            doubles.append(replace(skill, trusted=False, problems=(*skill.problems, problem)))
    return (*first.values(), *doubles)


@value
class HookFile:
    """A `hooks.json`: its hooks hold if it is trusted. `problems` says what in it is not run."""

    file: SuppliedFile
    hooks: tuple[Hook, ...]
    problems: tuple[str, ...]


class HookStore:
    """Looks at the files each time, so that changes and trust take effect at once."""

    def __init__(self, files: TrustedFileStore, skills: SkillStore) -> None:
        self._files = files
        self._skills = skills

    async def files(self, workspace: str) -> list[HookFile]:
        """Returns the data folder's file and the workspace's, as far as there are any, and those of plugins."""
        of_plugins = [HookFile(read.file, read.hooks, read.problems) for read in await self._skills.plugin_hooks()]
        return [*(_read(file) for file in await self._files.hooks(workspace)), *of_plugins]

    async def hooks(self, workspace: str) -> Sequence[Hook]:
        """Returns the hooks that hold."""
        return [hook for supplied in await self.files(workspace) if supplied.file.trusted for hook in supplied.hooks]


def _read(file: SuppliedFile) -> HookFile:
    if file.text is None:
        return HookFile(file, (), (file.fault or "it cannot be read",))
    hooks, problems = read_hooks(file.text, file.path)
    return HookFile(file, tuple(hooks), tuple(problems))
