"""What an editor is asked: the questions as dialogs, one at a time, and what counts as an answer."""

import asyncio
from collections.abc import Coroutine, Sequence

from acp.exceptions import RequestError
from acp.helpers import text_block
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    PermissionOptionKind,
    ToolCallUpdate,
)
from pydantic import ValidationError

from anycowork.acp.tool_calls import call_kind, call_locations, call_title, diff_content, fenced, one_line, shown_text
from anycowork.acp.updates import question_text
from anycowork.client.disclosures import ITEM_NAMES, endorsement_text, rule_sentence, saved_rules_text
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.roles import Role
from anycowork.domain.values import value

APPROVE, KEEP_PLANNING, OWN_WORDS, STOP = "approve", "keep_planning", "own_words", "stop"
DIALOG_SECONDS = 24 * 3600.0  # a person may be away; the chat waits on disk anyway


@value
class PermissionRequest:
    """`options` are those that count as an answer; whatever else an editor sends is none."""

    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


def approval_request(approval: Json, disclosure: Json, workspace: str) -> PermissionRequest:
    """`disclosure` holds every item. The option's id is the decision that it stands for."""
    tool, parameters = str(approval.get("tool")), json_object(approval.get("parameters"))
    options = [_option("allow_once", "allow_once", "Allow once")]
    rules = []
    if saved := saved_rules_text(approval):
        allow = shown_text(saved)
        rules.append(f"“Always” makes the rule: {allow}")
        options.append(_option("allow_session", "allow_always", f"Allow in this chat: {allow}"))
        options.append(_option("allow_always", "allow_always", f"Always allow here: {allow}"))
    options.append(_option("deny", "reject_once", "Deny"))
    if isinstance(denying := approval.get("proposed_deny_rule"), dict):
        deny = shown_text(rule_sentence(denying, "deny"))
        rules.append(f"“Always deny” makes the rule: {deny}")
        options.append(_option("deny_always", "reject_always", f"Always deny: {deny}"))
    diff = approval.get("diff")
    drawn = diff_content(diff, workspace) if isinstance(diff, str) else []
    lines = [*_circumstances(approval), *disclosed_lines(disclosure), *rules]
    update = ToolCallUpdate(
        tool_call_id=str(approval.get("tool_call_id")),
        title=call_title(tool, parameters),
        kind=call_kind(tool),
        status="pending",
        content=[_text(lines), *drawn],
        locations=call_locations(parameters, workspace),
        raw_input=parameters,
    )
    return PermissionRequest(update, tuple(options))


def plan_request(plan: Json, disclosure: Json, role: str) -> PermissionRequest:
    """Approving grants exactly what the dialog lists, and switches a planner's chat."""
    switches = "switches to the actor and " if role == Role.PLANNER else ""
    goal = one_line(plan.get("goal") or "the plan")
    update = ToolCallUpdate(
        tool_call_id=f"plan-{plan.get('message_id')}",
        title=f"Approve the plan: {goal}",
        kind="switch_mode",
        status="pending",
        content=[_text([f"Approving {switches}allows, for this run:", *disclosed_lines(disclosure)])],
    )
    options = (
        _option(APPROVE, "allow_once", "Approve and carry out"),
        _option(KEEP_PLANNING, "reject_once", "Keep planning"),
    )
    return PermissionRequest(update, options)


def question_request(question: Json) -> PermissionRequest | None:
    """None for a question without options: it is answered with the next prompt."""
    choices = json_objects(question.get("options"))
    if not choices:
        return None
    update = ToolCallUpdate(
        tool_call_id=f"question-{question.get('message_id')}",
        title=one_line(question.get("question")),
        kind="other",
        status="pending",
        content=[ContentToolCallContent(type="content", content=text_block(question_text(question)))],
    )
    options = [
        _option(f"option-{index}", "allow_once", str(choice.get("label"))) for index, choice in enumerate(choices)
    ]
    if question.get("allow_custom"):
        options.append(_option(OWN_WORDS, "allow_once", "Answer in my own words, with the next prompt"))
    return PermissionRequest(update, (*options, _option(STOP, "reject_once", "Stop here")))


def chosen_value(question: Json, option_id: str) -> str | None:
    """The value of the option that was chosen; None if it stands for no value."""
    values = [str(choice.get("value")) for choice in json_objects(question.get("options"))]
    return dict(zip((f"option-{index}" for index in range(len(values))), values, strict=True)).get(option_id)


def disclosed_lines(disclosure: Json) -> list[str]:
    """Every item in full; the server has written out what a person would not see."""
    lines = []
    for item in json_objects(disclosure.get("items")):
        step = f"[{item['step']}] " if item.get("step") and item.get("kind") != "step" else ""
        name = f"step {item.get('step')}:" if item.get("kind") == "step" else ITEM_NAMES.get(str(item.get("kind")), "")
        detail = f" ({item['detail']})" if item.get("detail") else ""
        warning = "  ← a file that programs take orders from" if item.get("control") else ""
        lines.append(f"{step}{name} {item.get('text')}{detail}{warning}")
    return lines


def _circumstances(approval: Json) -> list[str]:
    lines = ["High risk."] if approval.get("risk") == "high" else []
    if approval.get("held"):
        lines.append("The command has run. Its changes wait for your answer; denied, they are dropped.")
    if approval.get("outside_plan"):
        lines.append("This is not in the approved plan.")
    if endorsement := endorsement_text(approval):
        lines += [shown_text(line) for line in endorsement.lines()]
    reasons = approval.get("reasons")
    return [*lines, *(shown_text(reason) for reason in (reasons if isinstance(reasons, list) else []))]


def _option(option_id: str, kind: PermissionOptionKind, name: str) -> PermissionOption:
    return PermissionOption(option_id=option_id, kind=kind, name=one_line(name))


def _text(lines: Sequence[str]) -> ContentToolCallContent | FileEditToolCallContent:
    return ContentToolCallContent(type="content", content=text_block(fenced("\n".join(lines))))


class NoAnswer(Exception):
    """The dialog brought no answer. It was cancelled, it failed, or the editor is gone."""

    def __init__(self, reason: str, *, is_cancelled: bool = False, editor_is_gone: bool = False) -> None:
        super().__init__(reason)
        self.is_cancelled = is_cancelled
        self.editor_is_gone = editor_is_gone


class Dialogs:
    """Those of one prompt. Each has a key, so that it ends when its question was decided elsewhere."""

    def __init__(
        self, editor: Client, session_id: str, tasks: asyncio.TaskGroup, *, seconds: float = DIALOG_SECONDS
    ) -> None:
        self._editor, self._session_id, self._tasks, self._seconds = editor, session_id, tasks, seconds
        self._open: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    def open(self, key: str, work: Coroutine[None, None, None]) -> None:
        """Starts what asks and acts on the answer. One that is open already is not opened again."""
        if key in self._open:
            work.close()
            return
        self._open[key] = self._tasks.create_task(work)

    def close(self, key: str) -> None:
        """Ends the dialog of a question that was decided, here or elsewhere. The task that decided it is not cancelled."""
        task = self._open.get(key)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def close_all(self) -> None:
        for key in self._open:
            self.close(key)

    async def ask(self, request: PermissionRequest) -> str:
        """The id of the option that the person chose. Raises: NoAnswer, for everything that is not such a choice."""
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await self._editor.request_permission(
                        session_id=self._session_id, tool_call=request.tool_call, options=list(request.options)
                    )
            except TimeoutError:
                raise NoAnswer(f"no answer came within {self._seconds:g} seconds") from None
            except ConnectionError:
                raise NoAnswer("the editor is gone", editor_is_gone=True) from None
            except RequestError as error:
                raise NoAnswer(f"the editor answered with an error: {error}") from None
            except ValidationError:
                raise NoAnswer("the editor's answer is not one of the protocol") from None
        if not isinstance(answer.outcome, AllowedOutcome):
            raise NoAnswer("the dialog was cancelled", is_cancelled=True)
        if answer.outcome.option_id not in {option.option_id for option in request.options}:
            raise NoAnswer("the editor chose an option that was not offered")
        return answer.outcome.option_id
