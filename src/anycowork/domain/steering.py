"""Whether a path is a control file that needs a person's approval. Pure."""

from collections.abc import Sequence

from anycowork.domain.control_files import ControlClass, control_class


def steers(parts: Sequence[str]) -> bool:
    """Whether changing this path changes what programs do by themselves. A rule or a plan must name such a file, or a person is asked."""
    return control_class(parts) not in (None, ControlClass.SCRIPT)


def path_steers(path: str) -> bool:
    return steers(_parts(path))


def is_build_script(path: str) -> bool:
    """Whether package managers or build tools run what this file says: worth a warning, no question of its own."""
    return control_class(_parts(path)) is ControlClass.SCRIPT


def _parts(path: str) -> list[str]:
    return path.strip("/").split("/")
