"""Selects the tools to show when there are too many for the budget, and names the others. Pure.

Relevance is measured against the request that opened the chat, not against the newest one: a list that changed from turn to turn
would throw away what a provider has cached of everything after it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.prompts.tokens import size

A_REQUEST = 4  # words; fewer may be a greeting, which says nothing of what the chat is about
LOOKED_AT = 50  # messages at the beginning of a chat among which it stands
LONGEST_REQUEST = 2_000  # characters of it that are looked at


@value
class ToolSelection:
    """`tools` in the order given, `left_out` by rank."""

    tools: tuple[ToolSpec, ...]
    left_out: tuple[str, ...]


def opening_request(history: Iterable[Message]) -> str:
    """Returns the person's first message that is more than a greeting; empty if there is none."""
    first = islice(history, LOOKED_AT)
    texts = (
        message.content
        for message in first
        if message.role is Speaker.USER and message.message_type is MessageType.TEXT
    )
    return next((text for text in texts if len(text.split(maxsplit=A_REQUEST)) >= A_REQUEST), "")[:LONGEST_REQUEST]


def rank_tools(specs: Iterable[ToolSpec], request: str) -> list[ToolSpec]:
    """The lower number in `priority` comes first, then the tool that shares more words with the request, then the name."""
    request_words = _words(request)
    return sorted(
        specs, key=lambda spec: (spec.priority, -len(request_words & _words_of(spec.name, spec.description)), spec.name)
    )


def select_tools(
    granted: Sequence[ToolSpec], *, weight: Callable[[ToolSpec], int], budget: int, request: str
) -> ToolSelection:
    """Returns all tools if they fit into `budget` bytes, else those of the highest rank that fit."""
    if sum(map(weight, granted)) <= budget:
        return ToolSelection(tuple(granted), ())
    order = rank_tools(granted, request)
    fitting: set[str] = set()
    for spec in order:
        if (cost := weight(spec)) <= budget:
            budget -= cost
            fitting.add(spec.name)
    return ToolSelection(
        tuple(spec for spec in granted if spec.name in fitting),
        tuple(spec.name for spec in order if spec.name not in fitting),
    )


_MORE = "More tools, for whose description there is no room; one that is called with wrong parameters answers which it takes:"


def named(names: Sequence[str], budget: int) -> str:
    """One line of at most `budget` bytes that names as many as it holds, and says how many more there are; empty if that is none."""
    ending = f" and {len(names)} more."
    budget -= size(_MORE) + size(ending)
    fitting: list[str] = []
    for name in names:
        budget -= size(name) + 2
        if budget < 0:
            break
        fitting.append(name)
    if not fitting:
        return ""
    remaining = len(names) - len(fitting)
    return f"{_MORE} {', '.join(fitting)}{f' and {remaining} more.' if remaining else '.'}"


@lru_cache(maxsize=4_096)
def _words_of(name: str, description: str) -> frozenset[str]:
    return _words(f"{name} {description}")


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in re.findall(r"[^\W_]+", text.lower()) if len(word) > 2)
