"""What one process tells the others on the same database before it changes a folder that their tasks of jobs lie on."""

from enum import StrEnum

from anycowork.domain.values import value


class LayerChangeKind(StrEnum):
    """`HOLD`: the paths are about to change. `HOLD_ALL`: anything may. `HIDE`: the paths came just now."""

    HOLD = "hold"
    HOLD_ALL = "hold_all"
    HIDE = "hide"


@value
class LayerChange:
    """`folder` is a real path, and `paths` are below it. `gone` are those that will be removed or replaced by another kind of entry."""

    kind: LayerChangeKind
    folder: str
    paths: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
