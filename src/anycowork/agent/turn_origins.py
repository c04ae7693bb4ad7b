"""Tracks where everything came from that a turn's model was shown, and finds in it what a person is shown on a card."""

from collections.abc import Iterable, Iterator, Sequence

from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.hooks import words_recorded
from anycowork.domain.messages import Message, MessageType, Speaker, quoted_reports
from anycowork.domain.network import Destination, wanted_destinations
from anycowork.domain.origins import (
    FROM_THE_WEB,
    IMPORT,
    NO_ORIGINS,
    PERSON,
    WORKSPACE,
    Origins,
    Sink,
    join,
    origin_of,
    passage_around,
)
from anycowork.domain.plan import Plan
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import CallStatus, Parameters, ToolSpec
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.tools.web.fetch_page import FetchPage
from anycowork.tools.web.search_web import SearchWeb

FOLDER_CONTENTS: Origins = frozenset({WORKSPACE})
_GIT_READS = ("git clone", "git fetch", "git pull", "git submodule", "git remote update")
_MOST_SEARCHED = 1_000_000  # characters of one message in which a passage is looked for
_SHORTEST_NEEDLE = 3


class TurnOrigins:
    """Reads each message once: the join of their origins, and the person's own words."""

    def __init__(self) -> None:
        self._origins = NO_ORIGINS
        self._words: list[str] = []
        self._read = 0

    def of(self, history: Sequence[Message]) -> Origins:
        """Returns the origins of everything in this history, which only grows."""
        self._read_on(history)
        return self._origins

    def words(self, history: Sequence[Message]) -> list[str]:
        """Returns what the person wrote in their own words. A chosen option and a plan's request are words of the model."""
        self._read_on(history)
        return self._words

    def _read_on(self, history: Sequence[Message]) -> None:
        for message in history[self._read :]:
            came_from = message.came_from
            if not came_from <= self._origins:  # as most often: nothing new
                self._origins = join(self._origins, came_from)
            if message.role is Speaker.USER and is_person_speaking(message):
                self._words.append(message.content)
        self._read = len(history)


def is_person_speaking(message: Message) -> bool:
    payload = message.payload or {}
    written_for_them = "plan_id" in payload or (payload.get("value") is not None and "question_id" in payload)
    return (
        message.role is Speaker.USER
        and message.message_type is MessageType.TEXT
        and PERSON in message.came_from
        and IMPORT not in message.came_from
        and not written_for_them
    )


def plan_words(plan: Plan | None) -> Iterator[str]:
    """Yields what the approved plan names."""
    for step in plan.steps if plan is not None else ():
        yield from (step.action, *step.paths, *step.commands, *([step.check] if step.check else []))


def origins_read_by(spec: ToolSpec, prepared: Prepared, files: Origins) -> Origins:
    """Returns where the result of a call comes from: the files it could open, the hosts it could reach, and whoever answers it."""
    command = prepared.resource.removeprefix("command:") if spec.runs_commands else ""
    return join(_host_origins(command, prepared.network), authors_of(spec), files if _opens_files(spec) else NO_ORIGINS)


def origins_of_interrupted(spec: ToolSpec | None, parameters: Parameters) -> Origins:
    """Returns where what a stopped call had printed may come from."""
    hosts = parameters.get("network")
    try:
        destinations = wanted_destinations(map(str, hosts)) if isinstance(hosts, list) else ()
    except ValueError:
        destinations = ()
    command = str(parameters.get("command") or "")
    return join(_host_origins(command, destinations), authors_of(spec) if spec else (), FOLDER_CONTENTS)


def _host_origins(command: str, destinations: Sequence[Destination]) -> list[str]:
    if not destinations:  # the usual case
        return []
    host_class = "git" if any(git_command in command for git_command in _GIT_READS) else "web"
    return [origin_of(host_class, destination.host) for destination in destinations]


def authors_of(spec: ToolSpec) -> list[str]:
    """Returns who answers calls of this tool in words of their own: a server, another vendor's agent."""
    server = [origin_of("mcp", spec.server)] if spec.server else []
    return server + ([origin_of("delegate", spec.delegate)] if spec.delegate else [])


def _opens_files(spec: ToolSpec) -> bool:
    """Whether a call can show what is in the workspace. A remote server sees nothing of it, and the web neither."""
    if spec.asks_agents or spec.web:
        return False
    return spec.server is None or spec.looks_below or spec.layered


def passage_about(history: Iterable[Message], origins: Origins, sinks: Sequence[Sink]) -> str:
    """Returns what an origin said: the newest passage that names a sink, else the beginning of the newest text; escaped."""
    needles = [needle for sink in sinks for needle in _needles(sink)]
    newest = ""
    for message in reversed([*history]):
        if message.came_from.isdisjoint(origins) or message.role is Speaker.ASSISTANT:
            continue
        for text in _texts_of_others(message):
            newest = newest or text
            position = next((text.find(needle) for needle in needles if needle in text), -1)
            if position >= 0:
                return visible(UntrustedText(passage_around(text, position)))
    return visible(UntrustedText(passage_around(newest, 0)))


def _needles(sink: Sink) -> list[str]:
    subject = sink.subject
    parts = [subject, subject.rpartition(":")[0], subject.rpartition("/")[2], subject.partition(":")[2]]
    return [part for part in dict.fromkeys(parts) if len(part) >= _SHORTEST_NEEDLE]


def _texts_of_others(message: Message) -> Iterator[str]:
    yield from (file.content[:_MOST_SEARCHED] for file in attached_files_of(message))
    if reports := quoted_reports(message):
        yield reports[:_MOST_SEARCHED]
    yield from words_recorded(message.payload)
    if message.role is Speaker.USER and PERSON not in message.came_from:
        yield message.content[:_MOST_SEARCHED]
    if message.role in (Speaker.TOOL, Speaker.SYSTEM) and (content := _without_our_refusal(message)):
        yield content[:_MOST_SEARCHED]


def _without_our_refusal(message: Message) -> str:
    """Returns what a call returned before it was denied or refused; the reason that follows is the server's own sentence. So is why a
    page could not be read; other tools' errors may be words of others."""
    match message.payload:
        case {"status": CallStatus.DENIED | CallStatus.REFUSED, "error": {"message": str(reason)}} if reason:
            return message.content.rpartition(reason)[0].rstrip("\n")
        case {
            "status": CallStatus.ERROR,
            "tool": FetchPage.name | SearchWeb.name,
            "error": {"message": str(reason)},
        } if reason:
            return message.content.replace(reason, "", 1).strip("\n")
        case _:
            return _without_our_heading(message)


def _without_our_heading(message: Message) -> str:
    """Returns what a page said, without the two lines that the tool wrote above it."""
    _, _, below_address = message.content.partition("\n")
    heading, _, page = below_address.partition("\n\n")
    is_page = heading == FROM_THE_WEB and any(origin.startswith("web:") for origin in message.came_from)
    return page if is_page else message.content
