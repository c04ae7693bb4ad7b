"""What a session made: codes, sessions, people, their tokens, client keys, invitations of workers. Each is a node: kind and id. Pure."""

from collections.abc import Callable, Mapping
from enum import StrEnum


class NodeKind(StrEnum):
    SESSION = "session"
    CODE = "code"
    PERSON = "person"
    TOKEN = "token"
    """A new token of somebody who was there before."""
    KEY = "key"
    INVITE = "invite"
    """Of a worker, with the worker that joined by it."""


def node(kind: NodeKind, id_: str) -> str:
    return f"{kind}:{id_}"


def read_node(name: str) -> tuple[NodeKind, str]:
    kind, _, id_ = name.partition(":")
    return NodeKind(kind), id_


def descendants(
    makers: Mapping[str, str | None], root: str, *, through: Callable[[NodeKind], bool] = lambda _: True
) -> set[str]:
    """Returns this node and all that it made, directly or not, `through` nodes of these kinds. `makers` has the maker of each node."""
    children: dict[str, list[str]] = {}
    for child, maker in makers.items():
        if maker is not None and through(read_node(child)[0]):
            children.setdefault(maker, []).append(child)
    reached_nodes, pending = {root}, [root]
    while pending:
        new = [child for child in children.get(pending.pop(), ()) if child not in reached_nodes]
        reached_nodes.update(new)
        pending += new
    return reached_nodes


def root_of(makers: Mapping[str, str | None], name: str) -> str:
    """Returns the first maker of all that led to this node."""
    seen = {name}
    while (maker := makers.get(name)) is not None and maker not in seen:
        seen.add(maker)
        name = maker
    return name
