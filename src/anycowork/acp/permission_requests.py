"""What a person is asked in the editor's permission dialog: about a call, a plan or a question. Pure: what waits in, a request out.

The dialog shows all that the decision grants. An option that makes a standing rule shows the rule.
"""

from collections.abc import Sequence

from acp.helpers import text_block
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    PermissionOptionKind,
    ToolCallUpdate,
)

from anycowork.acp.markdown import fenced, one_line, shown_text
from anycowork.acp.tool_calls import call_kind, call_locations, call_title, diff_content
from anycowork.acp.updates import question_text
from anycowork.client.chat_client import objects
from anycowork.client.disclosures import ITEM_NAMES, endorsement_text, rule_text, saved_rules_text
from anycowork.domain.messages import Json
from anycowork.domain.values import value

APPROVE, KEEP_PLANNING, OWN_WORDS, STOP = "approve", "keep_planning", "own_words", "stop"


@value
class PermissionRequest:
    """`options` are those that count as an answer; whatever else an editor sends is none."""

    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


def approval_request(approval: Json, disclosure: Json, workspace: str) -> PermissionRequest:
    """`disclosure` holds every item. The option's id is the decision that it stands for."""
    tool, parameters = str(approval.get("tool")), _object(approval, "parameters")
    options = [_option("allow_once", "allow_once", "Allow once")]
    rules = []
    if saved := saved_rules_text(approval):
        allow = shown_text(saved)
        rules.append(f"“Always” makes the rule: allow {allow}")
        options.append(_option("allow_session", "allow_always", f"Allow in this chat: {allow}"))
        options.append(_option("allow_always", "allow_always", f"Always allow here: {allow}"))
    options.append(_option("deny", "reject_once", "Deny"))
    if isinstance(denying := approval.get("proposed_deny_rule"), dict):
        deny = shown_text(rule_text(denying))
        rules.append(f"“Always deny” makes the rule: deny {deny}")
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


def plan_request(plan: Json, disclosure: Json) -> PermissionRequest:
    """Approving grants exactly what the dialog lists."""
    goal = one_line(plan.get("goal") or "the plan")
    update = ToolCallUpdate(
        tool_call_id=f"plan-{plan.get('message_id')}",
        title=f"Approve the plan: {goal}",
        kind="switch_mode",
        status="pending",
        content=[_text(["Approving switches to the actor and allows, for this run:", *disclosed_lines(disclosure)])],
    )
    options = (
        _option(APPROVE, "allow_once", "Approve and carry out"),
        _option(KEEP_PLANNING, "reject_once", "Keep planning"),
    )
    return PermissionRequest(update, options)


def question_request(question: Json) -> PermissionRequest | None:
    """None for a question without options: it is answered with the next prompt."""
    choices = objects(question, "options")
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
    values = [str(choice.get("value")) for choice in objects(question, "options")]
    return dict(zip((f"option-{index}" for index in range(len(values))), values, strict=True)).get(option_id)


def disclosed_lines(disclosure: Json) -> list[str]:
    """Every item in full; the server has written out what a person would not see."""
    lines = []
    for item in objects(disclosure, "items"):
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


def _object(document: Json, name: str) -> Json:
    inner = document.get(name)
    return inner if isinstance(inner, dict) else {}
