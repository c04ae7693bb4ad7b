"""What an ended turn leaves for a person to do: whether it can be continued where it stopped and why it stopped. Pure."""

from anycowork.domain.chats import CONTINUABLE, Chat, ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import Conflict
from anycowork.domain.messages import Json
from anycowork.domain.values import value

_WHY = {
    EndReason.LIMIT: "The turn reached a limit.",
    EndReason.INTERRUPTED: "The server ended during this turn.",
    EndReason.BLOCKED: "Steps of the approved plan are still open.",
}
_WAITING = {ChatState.AWAITING_APPROVAL: "approval", ChatState.AWAITING_ANSWER: "question"}


class NothingToContinue(Conflict):
    code = "nothing_to_continue"


@value
class Continuation:
    """An ended turn that one act of a person takes up again."""

    turn: Turn
    reason: EndReason

    @property
    def code(self) -> str | None:
        """The code of the error that ended the turn, such as `context_full`."""
        found = (self.turn.error or {}).get("code")
        return found if isinstance(found, str) else None

    def to_json(self) -> Json:
        text = (self.turn.error or {}).get("message")
        message = text if isinstance(text, str) else _WHY[self.reason]
        return {"turn_id": self.turn.id, "reason": self.reason.value, "code": self.code, "message": message}


def continuation_of(chat: Chat, newest: Turn | None) -> Continuation | None:
    """None while the chat is at work, after any other end, after a switch of the role (the turn stood in another one), and for a turn
    of a job, which is retried or resumed as a job."""
    if chat.state is not ChatState.IDLE or newest is None or newest.state is not TurnState.ENDED:
        return None
    if newest.reason not in CONTINUABLE or newest.role != chat.role or newest.job_id is not None:
        return None
    return Continuation(newest, newest.reason)


def waiting_of(chat: Chat, newest: Turn | None) -> str | None:
    """What a person is waited for: an approval, an answer, a plan's approval, or that they continue. None if nothing waits."""
    if chat.state in _WAITING:
        return _WAITING[chat.state]
    if continuation_of(chat, newest):
        return "continue"
    planned = newest is not None and newest.reason is EndReason.PLANNED and chat.state is ChatState.IDLE
    return "plan" if planned else None


def require_continuation(chat: Chat, newest: Turn | None) -> Continuation:
    """Raises: NothingToContinue, saying why."""
    found = continuation_of(chat, newest)
    if found is not None:
        return found
    if newest is None:
        raise NothingToContinue("Nothing was asked in this chat yet. Send a message.")
    if newest.job_id is not None:
        raise NothingToContinue("The last turn belongs to a job. Retry its task or resume the job, or send a message.")
    if newest.reason in CONTINUABLE and newest.role != chat.role:
        raise NothingToContinue(
            f"The turn stopped as {newest.role}, and the chat's role is {chat.role} now. Send a message, or switch back."
        )
    ended = f"Its last turn ended as '{newest.reason.value}'. " if newest.reason else ""
    raise NothingToContinue(
        f"{ended}Only a turn that stopped at a limit, by a restart or with open steps can be continued. Send a message."
    )
