"""Finds calls that stand in tool results and attached files: a model that makes such a call may follow text that somebody planted."""

from collections.abc import Iterable, Sequence

from anycowork.agent.injection_detector import InjectionDetector
from anycowork.agent.reply_parser import FoundCall
from anycowork.domain.attached_files import attached_files_of
from anycowork.domain.errors import FileExists, StepNotReady
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.tools import CallStatus
from anycowork.prompts.history_budget import shown_result


class InjectionScanner:
    """Reads each result and attached file once. `changing_tools` are the names of the tools that do more than read."""

    def __init__(self, changing_tools: Iterable[str]) -> None:
        self._results = InjectionDetector(changing_tools)
        self._scanned = 0

    def contains(self, call: FoundCall, history: Sequence[Message]) -> bool:
        """Whether the same call occurs in a result or an attached file of this history, in any spelling."""
        result = MessageType.TOOL_RESULT
        for message in history[self._scanned :]:
            if message.payload is None and message.message_type is not result:
                continue  # it has neither a result nor a file
            if message.message_type is result and not _is_server_message(message):
                # Text that the model was not shown cannot influence it.
                self._results.add_text(shown_result(message).content)
            for file in attached_files_of(message):
                self._results.add_text(file.content)
        self._scanned = len(history)
        return self._results.contains(call)


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
