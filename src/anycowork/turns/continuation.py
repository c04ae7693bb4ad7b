"""What an ended turn leaves for a person to do: whether it can be continued where it stopped and why it stopped. Pure."""

from collections.abc import Sequence

from anycowork.domain.chats import CONTINUABLE, Chat, ChatState, EndReason, Limits, Turn, TurnState
from anycowork.domain.errors import Conflict
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage
from anycowork.domain.values import replace, value

_WHY = {
    EndReason.LIMIT: "The turn reached a limit.",
    EndReason.INTERRUPTED: "The server ended during this turn.",
    EndReason.BLOCKED: "Steps of the approved plan are still open.",
}
_SET_ASIDE, _DROPPED_PLAN, _NOT_CONTINUED = (
    "The plan was set aside.",
    "The plan was dropped.",
    "The turn is not continued.",
)
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
        code = (self.turn.error or {}).get("code")
        return code if isinstance(code, str) else None

    def to_json(self) -> Json:
        text = (self.turn.error or {}).get("message")
        message = text if isinstance(text, str) else _WHY[self.reason]
        return {"turn_id": self.turn.id, "reason": self.reason.value, "code": self.code, "message": message}


def continuation_of(chat: Chat, newest: Turn | None) -> Continuation | None:
    """None while the chat is at work, after any other end, after a switch of the role (the turn stood in another one), and for a turn
    of a job, which is retried or resumed as a job."""
    rests = _resting_turn(chat, newest)
    return Continuation(rests, rests.reason) if rests is not None and rests.reason in CONTINUABLE else None


def kept_plan_of(chat: Chat, newest: Turn | None) -> str | None:
    """The approved plan that the next message goes on with: neither a person nor the agent meant its turn to end."""
    rests = _resting_turn(chat, newest)
    return rests.plan_id if rests is not None and rests.reason in CONTINUABLE | {EndReason.FAILED} else None


def _resting_turn(chat: Chat, newest: Turn | None) -> Turn | None:
    """The newest turn, where it has ended in the chat's own role."""
    if chat.state is not ChatState.IDLE or newest is None or newest.state is not TurnState.ENDED:
        return None
    return newest if newest.role == chat.role and newest.job_id is None else None


def steps_left_of(chat: Chat, newest: Turn | None, limits: Limits, used: Sequence[ModelUsage]) -> int | None:
    """How many steps the chat's turn has until it pauses, with the one for which a model is asked now: as those were told who followed
    it. None where no turn is at work, and for one of a job, which has limits of its own."""
    if chat.state is ChatState.IDLE or newest is None or newest.state is TurnState.ENDED or newest.job_id is not None:
        return None
    is_asking = newest.state is TurnState.RUNNING and any(usage.reserved for usage in used)
    return max(0, limits.steps - (newest.steps - newest.steps_before) + is_asking)


def waiting_of(chat: Chat, newest: Turn | None) -> str | None:
    """What a person is waited for: an approval, an answer, a plan's approval, or that they continue. None if nothing waits."""
    if chat.state in _WAITING:
        return _WAITING[chat.state]
    if continuation_of(chat, newest):
        return "continue"
    planned = newest is not None and newest.reason is EndReason.PLANNED and chat.state is ChatState.IDLE
    return "plan" if planned else None


class NothingToDismiss(Conflict):
    code = "nothing_to_dismiss"


def dismissed(chat: Chat, newest: Turn | None) -> tuple[Turn, str]:
    """Returns the newest turn as one that a person stopped, and the sentence that says so. Raises: NothingToDismiss."""
    waiting = waiting_of(chat, newest)
    if newest is None or waiting not in ("plan", "continue"):
        raise NothingToDismiss(
            "Nothing waits here that could be dismissed: no plan, and no turn that can be continued."
        )
    sentence_of_turn = _DROPPED_PLAN if newest.plan_id else _NOT_CONTINUED
    return replace(newest, reason=EndReason.STOPPED), _SET_ASIDE if waiting == "plan" else sentence_of_turn


def require_continuation(chat: Chat, newest: Turn | None) -> Continuation:
    """Raises: NothingToContinue, saying why."""
    continuation = continuation_of(chat, newest)
    if continuation is not None:
        return continuation
    if newest is None:
        raise NothingToContinue("Nothing was asked in this chat yet. Send a message.")
    if newest.job_id is not None:
        raise NothingToContinue("The last turn belongs to a job. Retry its task or resume the job, or send a message.")
    if newest.reason in CONTINUABLE and newest.role != chat.role:
        raise NothingToContinue(
            f"The turn stopped as {newest.role}, and the chat's role is {chat.role} now. Send a message, or switch back."
        )
    last_end = f"Its last turn ended as '{newest.reason.value}'. " if newest.reason else ""
    raise NothingToContinue(
        f"{last_end}Only a turn that stopped at a limit, by a restart or with open steps can be continued. Send a message."
    )
