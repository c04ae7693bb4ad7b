"""Creates a branch at the last commit, for a switch to it and for a new worktree. Blocking."""

from anycowork.domain.errors import CommandFailed, FileExists, Invalid, ToolFault
from anycowork.domain.values import value
from anycowork.git.git_process import run_git
from anycowork.git.own_git_folder import is_branch_reference, read_head, real_git_folder
from anycowork.git.repository_place import RepositoryPlace, find_repository
from anycowork.workspace.folder import Folder


@value
class NewBranch:
    """A branch that can be created: its repository, its reference, and the commit that it starts at."""

    place: RepositoryPlace
    reference: str
    commit: str

    def create(self) -> None:
        """Raises: FileExists, ToolFault."""
        words = ("update-ref", "-m", "branch: created", self.reference, self.commit, "0" * len(self.commit))
        try:
            run_git(words, folder=self.place.worktree, environment=real_git_folder(self.place))
        except CommandFailed:
            raise FileExists(f"There is a branch '{self.reference.removeprefix('refs/heads/')}' already.") from None


def plan_branch(folder: Folder, name: str, *, param: str) -> NewBranch:
    """Raises: NoRepository, ToolFault without a commit; Invalid, which names `param`, for what cannot be a branch's name."""
    reference = f"refs/heads/{name}"
    if not is_branch_reference(reference):
        raise Invalid(f"'{name[:80]}' cannot be the name of a branch.", param=param)
    place = find_repository(folder)
    head = read_head(place)
    if head.commit is None:
        raise ToolFault("There is no commit yet that a branch could start at. Commit first.")
    return NewBranch(place, reference, head.commit)
