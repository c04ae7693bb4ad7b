"""Which hooks hold in a folder: those of the data folder, and those of the workspace and of plugins once a person trusted them."""

from collections.abc import Sequence

from anycowork.domain.hooks import Hook, read_hooks
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.values import value
from anycowork.workspace.skill_store import SkillStore
from anycowork.workspace.trusted_files import TrustedFileStore


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
