"""Finds calls that stand in text of others that the model was shown: a model that makes such a call may follow text that somebody planted.

That text is in tool results, lines that a command changed, attached files, names of changed files, words of hooks, and reports of other agents.
"""

from collections.abc import Iterable, Iterator, Sequence

from anycowork.agent.injection_detector import InjectionDetector
from anycowork.agent.reply_parser import FoundCall
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.errors import FileExists, StepNotReady
from anycowork.domain.hooks import words_recorded
from anycowork.domain.messages import Message, MessageType, Speaker, is_checkpoint_note, quoted_reports
from anycowork.domain.plan import Plan
from anycowork.domain.tools import CallStatus
from anycowork.prompts.conversation import changed_lines
from anycowork.prompts.history_budget import shown_result


class InjectionScanner:
    """Reads each message once. `changing_tools` are the names of the tools that do more than read."""

    def __init__(self, changing_tools: Iterable[str]) -> None:
        names = tuple(changing_tools)
        self._texts = InjectionDetector(names)
        self._reports = InjectionDetector(names)
        self._words: list[str] = []  # of the person
        self._has_reports = False
        self._scanned = 0

    def contains(self, call: FoundCall, history: Sequence[Message], plan: Plan | None) -> bool:
        """Whether the text of this call occurs in text of others in this history, as far as `InjectionDetector` recognises it.

        A report says what was done to which file: what the person or the approved `plan` names as well is no order of the report.
        """
        user, text_type, result = Speaker.USER, MessageType.TEXT, MessageType.TOOL_RESULT
        for message in history[self._scanned :]:
            if message.role is user and message.message_type is text_type:
                self._words.append(message.content)
            if message.payload is not None or message.message_type is result:  # else it is all the speaker's own
                self._scan(message)
        self._scanned = len(history)
        if self._texts.contains(call):
            return True
        return self._has_reports and self._reports.contains(call, [*self._words, *_named_by(plan)])

    def _scan(self, message: Message) -> None:
        for text in _texts_of_others(message):
            self._texts.add_text(text)
        if reports := quoted_reports(message):
            self._reports.add_text(reports)
            self._has_reports = True


def _texts_of_others(message: Message) -> Iterator[str]:
    """Yield what others wrote in this message, as far as the model was shown it: other text cannot influence it."""
    if message.message_type is MessageType.TOOL_RESULT and not _is_server_message(message):
        yield shown_result(message).content
        yield "\n".join(line[1:] for line in changed_lines(message))
    if is_checkpoint_note(message):
        yield message.content
    for file in attached_files_of(message):
        yield file.content
    yield from words_recorded(message.payload)


def _named_by(plan: Plan | None) -> Iterator[str]:
    for step in plan.steps if plan is not None else ():
        yield from (step.action, *step.paths, *step.commands, *([step.check] if step.check else []))


def _is_server_message(message: Message) -> bool:
    """Whether the result was written by the server, not by a file or program: a refusal, an objection, a hint that a file exists or
    that another step comes first. Such texts name calls, but nobody could have planted them."""
    match message.payload:
        case {"status": CallStatus.REFUSED | CallStatus.DENIED} | {"tool_call_id": None}:
            return True
        case {"error": {"code": FileExists.code | StepNotReady.code}}:
            return True
        case _:
            return False
