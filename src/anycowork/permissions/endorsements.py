"""Decides which calls need a person's endorsement: their consequences leave the layer, and the turn has read what nobody vouched for. Pure.

Reading needs none, and neither does what the person's own words or the approved plan name literally.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.network import looks_like_address
from anycowork.domain.origins import ANY, NO_ORIGINS, Endorsement, Origins, Sink, SinkKind, class_of, condensed
from anycowork.domain.path_class import is_control_file, is_key_file
from anycowork.domain.rules import Rule
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Parameters, PathIntent, ToolSpec
from anycowork.domain.values import value

_WORD = re.compile(r"\w+")
_ADDRESS_NAMES = frozenset(
    {"url", "urls", "uri", "address", "link", "href", "host", "hostname", "domain", "endpoint", "website", "webpage"}
)
_LONGEST_SUBJECT = 1_000


def _says_nothing(sinks: Sequence[Sink]) -> str:
    return ""


@value
class Exposure:
    """What the model had read when it issued the call: the `origins` that nobody vouched for, the words of the person and of the approved
    plan, and a passage of what was read, for the sinks of a call."""

    origins: Origins = NO_ORIGINS
    words: tuple[str, ...] = ()
    passage_about: Callable[[Sequence[Sink]], str] = _says_nothing


NOT_EXPOSED = Exposure()


def required_endorsement(
    sinks: Sequence[Sink], parameters: Parameters, exposure: Exposure, rules: Sequence[Rule]
) -> Endorsement | None:
    """Returns what a person must endorse before a call reaches these sinks; None if nothing."""
    if not exposure.origins or not sinks:
        return None
    endorsing_rules = [rule for rule in rules if rule.sink is not None and rule.admits(parameters)]
    open_sinks = [sink for sink in sinks if not is_named(sink, parameters, exposure.words)]
    missing = {
        origin for sink in open_sinks for origin in exposure.origins if not _is_endorsed(endorsing_rules, origin, sink)
    }
    if not missing:
        return None
    needed = tuple(
        sink for sink in open_sinks if any(not _is_endorsed(endorsing_rules, origin, sink) for origin in missing)
    )
    return Endorsement(condensed(missing), exposure.passage_about(needed), needed)


def sinks_of(spec: ToolSpec, call: Call, prepared: Prepared, changes: Sequence[PathIntent]) -> tuple[Sink, ...]:
    """Returns where the call has consequences outside its layer. `changes` are those that a command has made already."""
    return tuple(dict.fromkeys(_sinks(spec, call, prepared, changes)))


def _sinks(spec: ToolSpec, call: Call, prepared: Prepared, changes: Sequence[PathIntent]) -> Iterator[Sink]:
    if spec.server is not None and (not spec.read_only or fetches_address(spec, call.parameters)):
        yield Sink(SinkKind.MCP, prepared.resource.removeprefix("mcp:").rpartition("#")[0] or call.tool)
    command = str(call.parameters.get("command") or "") if spec.runs_commands else ""
    command_words = _WORD.findall(command)
    pushes = "git" in command_words and "push" in command_words[command_words.index("git") :]
    for destination in prepared.network:
        yield Sink(SinkKind.PUSH, destination.host) if pushes else Sink(SinkKind.NETWORK, str(destination))
    if spec.read_only:
        return
    if spec.runs_commands and not spec.contained:
        yield Sink(SinkKind.UNSANDBOXED, command[:_LONGEST_SUBJECT])
    if spec.asks_agents or spec.delegate is not None:
        yield Sink(SinkKind.TASK, f"delegate:{spec.delegate}" if spec.delegate else prepared.resource)
    yield from file_sinks([*prepared.touched, *prepared.others, *(item.path for item in changes)])
    yield from (Sink(SinkKind.KEY_FILE, path.lstrip("/")) for path in prepared.key_files)


def file_sinks(paths: Iterable[str]) -> Iterator[Sink]:
    """Yields the changed paths that programs or people act on: control files and key files."""
    for path in paths:
        if is_control_file(path):
            yield Sink(SinkKind.CONTROL_FILE, path.lstrip("/"))
        elif is_key_file(path):
            yield Sink(SinkKind.KEY_FILE, path.lstrip("/"))


def fetches_address(spec: ToolSpec, parameters: Parameters) -> bool:
    """Tells whether the caller chooses an address that a server's tool fetches. The address can carry data out, so this is more than a read.

    What the call says decides, whatever the tool calls its arguments; a name that promises an address is enough, too.
    """
    properties = spec.schema.get("properties")
    inner_names = _inner_names(parameters)
    names = {name.casefold() for name in (*(properties if isinstance(properties, dict) else ()), *inner_names)}
    return not names.isdisjoint(_ADDRESS_NAMES) or any(map(looks_like_address, (*_texts(parameters), *inner_names)))


def is_named(sink: Sink, parameters: Parameters, texts: Sequence[str]) -> bool:
    """Whether a text names the consequence literally: the host, the path, the command, or a server's tool with each of its values
    and of the names inside them."""
    match sink.kind:
        case SinkKind.NETWORK | SinkKind.PUSH:
            host = sink.subject.rpartition(":")[0] if sink.subject.count(":") == 1 else sink.subject
            return ANY not in host and any(_names(text.casefold(), host.casefold()) for text in texts)
        case SinkKind.MCP:
            needles = [PurePosixPath(sink.subject).name, *_texts(parameters), *_inner_names(parameters)]
            return any(all(_names(text, needle) for needle in needles) for text in texts)
        case SinkKind.CONTROL_FILE | SinkKind.KEY_FILE | SinkKind.UNSANDBOXED:
            return any(_names(text, sink.subject) for text in texts)
        case SinkKind.TASK:
            return any(_names(text, sink.subject.partition(":")[2]) for text in texts)
        case _:
            assert_never(sink.kind)


def _names(text: str, needle: str) -> bool:
    """Whether the text holds this as a whole word: `git.example` is not in `git.example.evil`, nor `a.py` in `data.py`."""
    if not needle.strip():
        return False
    start = text.find(needle)
    while start >= 0:
        before, after = text[max(0, start - 1) : start], text[start + len(needle) : start + len(needle) + 2]
        goes_on = (
            after[:1].isalnum() or after[:1] in ("_", "-") or (after[:1] in (".", "@", ":") and after[1:].isalnum())
        )
        if not (before.isalnum() or before in ("_", "-", ".", "@")) and not goes_on:
            return True
        start = text.find(needle, start + 1)
    return False


def _texts(document: JsonValue) -> list[str]:
    """Returns every value in a call's parameters as text."""
    texts: list[str] = []
    waiting: list[JsonValue] = [document]
    while waiting:
        match waiting.pop():
            case dict() as entries:
                waiting += entries.values()
            case list() as items:
                waiting += items
            case None:
                pass
            case leaf:
                texts.append(str(leaf))
    return texts


def _inner_names(parameters: Parameters) -> list[str]:
    """Returns the names inside a call's values. The tool's schema fixes those of its parameters, and not these."""
    names: list[str] = []
    waiting: list[JsonValue] = [*parameters.values()]
    while waiting:
        match waiting.pop():
            case dict() as entries:
                names += entries
                waiting += entries.values()
            case list() as items:
                waiting += items
    return names


def _is_endorsed(rules: Sequence[Rule], origin: str, sink: Sink) -> bool:
    every_one = f"{class_of(origin)}:{ANY}"
    return any(rule.sink == sink and rule.origin in (origin, every_one) for rule in rules)
