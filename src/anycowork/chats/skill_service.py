"""Lists skills, and lets a person add, trust and remove them. A skill is activated by `ChatService`."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.skills import Skill, SkillProblem
from anycowork.domain.values import replace
from anycowork.domain.workflows import NotTrusted
from anycowork.workflows.workflow_service import WorkflowService
from anycowork.workspace.plugin_store import InstalledPlugin, PluginImport
from anycowork.workspace.skill_store import SkillStore

log = logging.getLogger(__name__)


class SkillService:
    """A skill never takes the name of a workflow: then the workflow holds, and the skill cannot be used."""

    def __init__(
        self,
        *,
        skills: SkillStore,
        workflows: WorkflowService,
        find_workspace: Callable[[str | None], Awaitable[str]],
    ) -> None:
        self._skills = skills
        self._workflows = workflows
        self._find_workspace = find_workspace

    async def skills(self, workspace: str, *, texts_of: str | None = None) -> list[Skill]:
        """Returns them; that named `texts_of` with the texts of its files. Raises: BadWorkspace."""
        skills = await self._skills.skills(workspace, texts_of=texts_of)
        if not skills:
            return []
        names = {listed.name for listed in (await self._workflows.catalog(workspace)).listed}
        return [_unusable(skill) if skill.name in names else skill for skill in skills]

    async def require(self, workspace: str, name: str) -> Skill:
        """Returns the skill of this name that holds, with the texts of its files. Raises: NotFound, BadWorkspace."""
        skill = next((listed for listed in await self.skills(workspace, texts_of=name) if listed.name == name), None)
        if skill is None:
            raise NotFound("skill", name[:80])
        return skill

    async def activated_by(self, message_text: str, workspace: str) -> Skill | None:
        """Returns the trusted skill that a message `/name …` activates; None if a workflow or nothing has this name.

        Raises: NotTrusted, Invalid if the skill has problems.
        """
        name = (
            message_text[1:].split(maxsplit=1)[0] if message_text[1:].strip() and not message_text[1].isspace() else ""
        )
        skill = await self._skills.find(workspace, name) if name else None
        if skill is None or any(listed.name == name for listed in (await self._workflows.catalog(workspace)).listed):
            return None
        if skill.problems:
            problem = skill.problems[0]
            raise Invalid(f"The skill '{name}' cannot be used: {problem.path}: {problem.message}", param="content")
        if not skill.trusted:
            state = "has changed since it was trusted" if skill.changed else "is not trusted yet"
            raise NotTrusted(
                f"The skill '{name}' ({skill.path}) {state}. Read it, then trust it: in the settings, or with 'anycowork skills trust {name}'."
            )
        return skill

    async def add(
        self, principal: Principal, path: str | None, url: str | None, only: Sequence[str] = ()
    ) -> Skill | PluginImport:
        """Copies the skill of this folder into the data folder, or the plugins of it, untrusted. Raises: Invalid, Conflict, StorageFault."""
        principal.require(Scope.MANAGE)
        if url is not None or path is None:
            raise Invalid(
                'A skill or plugin is added from a folder of this machine: download or clone it first, then send {"path": "/the/folder"}.',
                param="url" if url is not None else "path",
            )
        if not path.startswith("/"):
            raise Invalid("Name the folder by its whole path, beginning with '/'.", param="path")
        added = await self._skills.add(path, only)
        names = [added.name] if isinstance(added, Skill) else [plugin.record.name for plugin in added.plugins]
        log.info("%s added %s from %s", principal.label(), ", ".join(names), path)
        return added

    async def remove(self, principal: Principal, name: str) -> None:
        """Removes a skill of the data folder, or a plugin with all that it brought. Raises: NotFound, Invalid, StorageFault."""
        principal.require(Scope.MANAGE)
        plugin, separator, _ = name.partition(":")
        if separator:
            raise Invalid(f"'{name[:80]}' is of the plugin '{plugin[:80]}': remove that, with all that it brought.")
        await self._skills.remove(name)
        log.info("%s removed the skill or plugin %s", principal.label(), name)

    async def plugins(self) -> list[InstalledPlugin]:
        return await self._skills.plugins()

    async def plugin(self, name: str) -> InstalledPlugin:
        """Returns it with the texts of the files that its hooks may use. Raises: NotFound."""
        return await self._skills.plugin(name)

    async def trust_hooks(self, principal: Principal, name: str, sha256: str | None) -> InstalledPlugin:
        """Trusts the hooks of a plugin with exactly these files, or takes the trust back. Raises: NotFound, ContentChanged, Invalid."""
        principal.require(Scope.MANAGE)
        await self._skills.trust_hooks(await self.plugin(name), sha256)
        log.info("%s %s the hooks of %s", principal.label(), "trusts" if sha256 else "no longer trusts", name)
        return await self.plugin(name)

    async def trust(self, principal: Principal, workspace: str | None, name: str, sha256: str | None) -> Skill:
        """Trusts exactly this content of all its files, or takes the trust back. Raises: NotFound, ContentChanged, Invalid."""
        principal.require(Scope.MANAGE)
        folder = await self._find_workspace(workspace)
        skill = await self.require(folder, name)
        await self._skills.trust(folder, skill, sha256)
        log.info("%s %s the skill %s", principal.label(), "trusts" if sha256 else "no longer trusts", skill.path)
        return await self.require(folder, name)


def _unusable(skill: Skill) -> Skill:
    problem = SkillProblem(f"There is a workflow '{skill.name}', which holds: rename the skill.")
    return replace(skill, trusted=False, problems=(*skill.problems, problem))
