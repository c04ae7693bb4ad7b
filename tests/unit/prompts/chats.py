"""Messages for the tests of this room: made by hand, or by hypothesis as whole histories in which calls have results."""

import json
from collections.abc import Iterable
from itertools import count

from hypothesis import strategies as st

from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.model import PromptMessage
from anycowork.prompts.conversation import PromptConversation, prompt_message

_ids = count()


def message(
    speaker: Speaker,
    content: str,
    kind: MessageType = MessageType.TEXT,
    *,
    payload: Json | None = None,
    turn: str = "t1",
) -> Message:
    return Message(
        id=f"m{next(_ids)}",
        chat_id="chat",
        role=speaker,
        content=content,
        message_type=kind,
        payload=payload,
        turn_id=turn,
    )


def words(text: str, *, turn: str = "t1") -> Message:
    return message(Speaker.USER, text, turn=turn)


def answer(text: str, *, turn: str = "t1") -> Message:
    return message(Speaker.ASSISTANT, text, turn=turn)


def call(call_id: str, tool: str, *, turn: str = "t1") -> Message:
    written: Json = {"tool": tool, "parameters": {}, "terminate": False}
    return message(
        Speaker.ASSISTANT, json.dumps(written), MessageType.TOOL_CALL, payload={"id": call_id, **written}, turn=turn
    )


def result(call_id: str, tool: str, content: str, *, status: str = "ok", turn: str = "t1") -> Message:
    payload: Json = {"tool_call_id": call_id, "tool": tool, "status": status}
    return message(Speaker.TOOL, content, MessageType.TOOL_RESULT, payload=payload, turn=turn)


_text = st.text(st.sampled_from("ab ü漢🙂\n"), min_size=1, max_size=80)
_long = st.builds(lambda piece, times: piece * times, _text, st.integers(1, 60))


@st.composite
def _turn(draw: st.DrawFn) -> list[Message]:
    """A request, batches of calls with their results (in any order), perhaps a question and its answer, a note for people, perhaps an answer."""
    turn = f"t{next(_ids)}"
    said = [words(f"Please {draw(_long)}", turn=turn)]
    for _ in range(draw(st.integers(0, 3))):
        ids = [f"c{next(_ids)}" for _ in range(draw(st.integers(1, 3)))]
        tool = draw(st.sampled_from(["read_file", "execute_command"]))
        said += [call(call_id, tool, turn=turn) for call_id in ids]
        said += [result(call_id, tool, draw(_long), turn=turn) for call_id in draw(st.permutations(ids))]
        if draw(st.booleans()):
            said += [
                message(Speaker.ASSISTANT, "Which?", MessageType.QUESTION, turn=turn),
                words("That one.", turn=turn),
            ]
    if draw(st.booleans()):
        said.append(message(Speaker.SYSTEM, "A limit was reached.", turn=turn))
    if draw(st.booleans()):
        said.append(answer(draw(_long), turn=turn))
    return said


histories = st.lists(_turn(), max_size=5).map(lambda turns: [one for turn in turns for one in turn])


def heard(shown: Iterable[PromptMessage]) -> tuple[tuple[str, str], ...]:
    """Who says what, without the parts it came from."""
    return tuple((one.role, one.content) for one in shown)


def prompt_conversation(history: Iterable[Message]) -> tuple[PromptMessage, ...]:
    conversation = PromptConversation()
    for stored in history:
        if (converted := prompt_message(stored)) is not None:
            conversation.add(stored, converted)
    return tuple(conversation.turns)
