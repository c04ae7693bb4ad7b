"""Parses a workflow definition file: TOML between two lines of `+++`, then a `## title` for each step. Pure; errors name the line."""

import json
import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field, JsonValue, StrictBool, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.evidence import read_stated
from anycowork.domain.messages import Json
from anycowork.domain.question import Question, read_question
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Parameters
from anycowork.domain.workflows import (
    Action,
    AskStep,
    NestedWorkflow,
    PromptStep,
    ShowChanges,
    ToolUse,
    Workflow,
    WorkflowStep,
)
from anycowork.workflows.front_matter import (
    NAME,
    FrontMatter,
    ParameterHead,
    definition_name,
    read_head,
    read_parameters,
)
from anycowork.workflows.parameters import PLACEHOLDER, placeholders, split_words
from anycowork.workflows.sections import (
    BadDefinition,
    DefinitionSection,
    in_plain_words,
    in_sections,
    misspelt_placeholders,
    plainest,
    unknown_key,
)

MOST_LINES = 4_000
LONGEST_FRONT = 16_384  # characters of front matter
LONGEST_NESTED = 8_192  # characters of a workflow block
FENCE = "+++"
QUESTION_KEYS = (*(key for key in Question.model_fields if key not in ("type", "format_version")), "stop_on")
RESERVED = frozenset({"categories"})  # GET /workflows/categories
_KEY_VALUE = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)


class WorkflowHead(Boundary):
    """The front matter. Without a name the file name is used; without `needs` the steps decide."""

    name: str | None = None
    description: Annotated[str, Field(min_length=1, max_length=500)]
    category: Annotated[str, Field(pattern=r"^[a-z][a-z0-9 _-]{0,39}$")] = "other"
    needs: tuple[Permission, ...] | None = None
    parameters: Annotated[tuple[ParameterHead, ...], Field(max_length=20)] = ()
    expect: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1_000)], ...], Field(max_length=20)] = ()


class ToolBlock(Boundary):
    tool: Annotated[str, Field(min_length=1)]
    parameters: Parameters
    may_fail: StrictBool = False


def read_definition(file_name: str, text: str) -> Workflow:
    """Raises: BadDefinition."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if len(lines) > MOST_LINES:
        raise BadDefinition(MOST_LINES + 1, f"the file has more than {MOST_LINES:,} lines")
    end = _end_of_front(lines)
    front = FrontMatter(lines[1:end])
    head = read_head(front, WorkflowHead, {"parameters": ParameterHead}, longest=LONGEST_FRONT)
    about, sections = in_sections(lines, end + 1)
    workflow = Workflow(
        name=_name(file_name, head.name, front),
        description=" ".join(head.description.split()),
        category=head.category,
        parameters=read_parameters(head.parameters, front),
        steps=tuple(WorkflowStep(section.title, _action(section), section.line) for section in sections),
        declared=None if head.needs is None else frozenset(head.needs),
        about=about,
        expect=_expect(head.expect, {parameter.name for parameter in head.parameters}, front),
    )
    _require_steps(workflow)
    _require_known_names(workflow, sections)
    return workflow


# --- the front matter


def _end_of_front(lines: Sequence[str]) -> int:
    if lines[0].rstrip() != FENCE:
        yaml = " (it begins with ---, but this is not YAML)" if lines[0].rstrip() == "---" else ""
        raise BadDefinition(1, f"the file must begin with a line {FENCE}, then TOML, then a line {FENCE}{yaml}")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return number
    raise BadDefinition(1, f"the front matter is not closed: a second line {FENCE} is missing")


def _name(file_name: str, name_in_file: str | None, front: FrontMatter) -> str:
    name = definition_name(name_in_file if name_in_file is not None else file_name.removesuffix(".md"), front)
    if name in RESERVED:
        raise BadDefinition(front.line_of(["name"]), f"'{name}' is reserved; choose another name")
    return name


def _expect(lines: Sequence[str], parameters: set[str], front: FrontMatter) -> tuple[str, ...]:
    for line in lines:
        if strange := next((name for name in PLACEHOLDER.findall(line) if name not in parameters), None):
            raise BadDefinition(front.line_of(["expect"]), f"'{{{{{strange}}}}}' is no parameter")
        try:
            read_stated(line)
        except Invalid as error:
            raise BadDefinition(front.line_of(["expect"]), error.message) from None
    return tuple(lines)


# --- the steps


def _action(section: DefinitionSection) -> Action | NestedWorkflow:
    block = section.block
    match section.kind:
        case "prompt":
            return PromptStep(section.text)
        case "tool":
            return _tool(section)
        case "ask":
            return _ask(section)
        case "changes":
            if block.strip():
                raise BadDefinition(
                    section.block_line, "a changes block must be empty; write instructions for the agent in a step"
                )
            return ShowChanges()
        case _:
            return _nested(section)


def _tool(section: DefinitionSection) -> ToolUse:
    try:
        block = ToolBlock.model_validate(_json(section))
    except ValidationError as error:
        reason = in_plain_words(plainest(error, ToolBlock.model_fields), ToolBlock)
        raise BadDefinition(section.block_line, f"in the tool block {reason}") from None
    return ToolUse(block.tool, block.parameters, may_fail=block.may_fail)


def _ask(section: DefinitionSection) -> AskStep:
    block = _json(section)
    if strange := next((key for key in block if key not in QUESTION_KEYS), None):
        raise BadDefinition(section.block_line, f"in the question {unknown_key(strange, QUESTION_KEYS)}")
    stop_on = block.pop("stop_on", [])
    question = read_question({**block, "type": "question"})
    if question is None:
        raise BadDefinition(
            section.block_line,
            "this is not a valid question: it needs a 'question' and 'options' (each with 'label' and 'value'), or 'allow_custom': true",
        )
    values = {option.value: None for option in question.options}
    if not isinstance(stop_on, list) or not all(isinstance(value, str) and value in values for value in stop_on):
        raise BadDefinition(section.block_line, f"'stop_on' must list values of the options: {', '.join(values)}")
    return AskStep(question.to_json(), tuple(str(value) for value in stop_on))


def _nested(section: DefinitionSection) -> NestedWorkflow:
    if len(section.block) > LONGEST_NESTED:
        raise BadDefinition(section.block_line, f"a workflow block has at most {LONGEST_NESTED:,} characters")
    try:
        parts = split_words(section.block)
    except Invalid as fault:
        raise BadDefinition(section.block_line, fault.message) from None
    if not parts or not NAME.fullmatch(parts[0]):
        raise BadDefinition(
            section.block_line, "a workflow block contains a name, then key=value: explain_code path={{path}}"
        )
    values: dict[str, str] = {}
    for word in parts[1:]:
        pair = _KEY_VALUE.fullmatch(word)
        if pair is None or pair[1] in values:
            raise BadDefinition(section.block_line, f"'{word[:60]}' is not key=value, or its key appears twice")
        values[pair[1]] = pair[2]
    return NestedWorkflow(parts[0], values)


def _json(section: DefinitionSection) -> Json:
    try:
        document = json.loads(section.block, parse_constant=_no_constant)  # noqa: TID251  # bounded by its file, and a depth that is too large is caught
        msgspec.json.encode(document)  # a value that cannot be encoded cannot be run
    except json.JSONDecodeError as error:
        raise BadDefinition(section.block_line + error.lineno, f"not valid JSON: {error.msg}") from None
    except (ValueError, OverflowError, RecursionError):
        reason = "it holds something that is no JSON value, a number too large, or is nested too deep"
        raise BadDefinition(section.block_line, f"not valid JSON: {reason}") from None
    if not isinstance(document, dict):
        raise BadDefinition(section.block_line, "the block must be one JSON object")
    return document


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


# --- what holds for the whole


def _require_steps(workflow: Workflow) -> None:
    if not workflow.steps:
        raise BadDefinition(1, "there is no step: write at least one '## title' with the words for the agent below it")
    for step in workflow.steps:
        if isinstance(step.does, NestedWorkflow) and step.does.workflow == workflow.name:
            raise BadDefinition(step.line, "a workflow cannot run itself")


def _require_known_names(workflow: Workflow, sections: Sequence[DefinitionSection]) -> None:
    """Requires every `{{name}}` to be a parameter. Raises: BadDefinition with the line of one that is not."""
    names = {parameter.name for parameter in workflow.parameters}
    takes = ", ".join(sorted(names)) or "none"
    for step, section in zip(workflow.steps, sections, strict=True):
        for name, suggestion in misspelt_placeholders("\n".join((step.title, *section.lines)), names):
            raise BadDefinition(
                section.line_of(name), f"'{{{{{name}}}}}' is no parameter; did you mean '{{{{{suggestion}}}}}'?"
            )
        used = [*PLACEHOLDER.findall(step.title), *placeholders(_texts(step.does))]
        for name in used:
            if name not in names:
                raise BadDefinition(section.line_of(name), f"'{{{{{name}}}}}' is no parameter (there are: {takes})")


def _texts(does: Action | NestedWorkflow) -> JsonValue:
    match does:
        case PromptStep(text):
            return text
        case ToolUse(_, parameters):
            return parameters
        case AskStep(question):
            return question
        case NestedWorkflow(_, given):
            return dict(given)
        case ShowChanges():
            return None
