"""Parses a workflow definition file: TOML between two lines of `+++`, then a `## title` for each step. Pure; errors name the line."""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field, JsonValue, StrictBool, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.question import Question, read_question
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Parameters
from anycowork.domain.values import value
from anycowork.domain.workflows import (
    Action,
    AskStep,
    Nested,
    Parameter,
    ParameterType,
    Prompt,
    ShowChanges,
    Step,
    ToolUse,
    Value,
    Workflow,
)
from anycowork.workflows.parameters import PLACEHOLDER, Unfit, fitting, placeholders, split_words
from anycowork.workflows.sections import BadDefinition, DefinitionSection, in_sections
from anycowork.workflows.suggestions import in_plain_words, misspelt_placeholders, plainest, unknown_key

MOST_STEPS = 30
LONGEST_FRONT = 16_384  # characters of front matter
_MOST_DOTS = 1_000  # in it: the TOML parser scans a dotted key once for each dot
FENCE = "+++"
QUESTION_KEYS = (*(key for key in Question.model_fields if key not in ("type", "format_version")), "stop_on")
RESERVED = frozenset({"categories"})  # GET /workflows/categories
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_AT_LINE = re.compile(r" ?\(at line (\d+), column \d+\)")
_KEY_VALUE = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)


class ParameterHead(Boundary):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    type: ParameterType = ParameterType.STRING
    description: Annotated[str, Field(max_length=500)] = ""
    required: bool | None = None
    default: Value | None = None
    choices: Annotated[tuple[Value, ...], Field(max_length=100)] = ()


class Head(Boundary):
    """The front matter. Without a name the file name is used; without `needs` the steps decide."""

    name: str | None = None
    description: Annotated[str, Field(min_length=1, max_length=500)]
    category: Annotated[str, Field(pattern=r"^[a-z][a-z0-9 _-]{0,39}$")] = "other"
    needs: tuple[Permission, ...] | None = None
    parameters: Annotated[tuple[ParameterHead, ...], Field(max_length=20)] = ()


class ToolBlock(Boundary):
    tool: Annotated[str, Field(min_length=1)]
    parameters: Parameters
    may_fail: StrictBool = False


@value
class _Front:
    lines: Sequence[str]

    def line_of(self, place: Sequence[str | int]) -> int:
        """Return the line of this field, or of its table if it is missing. The file's first line is 1."""
        heads = [number for number, line in enumerate(self.lines) if line.lstrip().startswith("[")]
        at = 0
        if len(place) > 1 and place[0] == "parameters" and isinstance(place[1], int):
            tables = [number for number in heads if self.lines[number].strip() == "[[parameters]]"]
            at = tables[place[1]] if place[1] < len(tables) else 0
            place = place[2:]
        end = next((number for number in heads if number > at), len(self.lines))
        key = re.compile(rf"\s*{re.escape(str(place[0]))}\s*=") if place else None
        for number in range(at, end):
            if key and key.match(self.lines[number]):
                return number + 2
        table = re.compile(rf"\s*\[\[?\s*{re.escape(str(place[0]))}\s*\]") if place else None
        named = (number + 2 for number in heads if table and table.match(self.lines[number]))
        return at + 2 if at else next(named, 1)


def read_definition(file_name: str, text: str) -> Workflow:
    """Raises: BadDefinition."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = _end_of_front(lines)
    front = _Front(lines[1:end])
    head = _read_head(front)
    about, sections = in_sections(lines, end + 1)
    workflow = Workflow(
        name=_name(file_name, head.name, front),
        description=" ".join(head.description.split()),
        category=head.category,
        parameters=_parameters(head, front),
        steps=tuple(Step(section.title, _action(section), section.line) for section in sections),
        declared=None if head.needs is None else frozenset(head.needs),
        about=about,
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


def _read_head(front: _Front) -> Head:
    text = "\n".join(front.lines)
    if len(text) > LONGEST_FRONT:
        raise BadDefinition(1, f"the front matter is longer than {LONGEST_FRONT:,} characters")
    if text.count(".") > _MOST_DOTS:
        raise BadDefinition(1, f"the front matter has more than {_MOST_DOTS:,} dots: its keys are nested too deeply")
    try:
        return Head.model_validate_json(msgspec.json.encode(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) + 1 if found else len(front.lines) + 1
        raise BadDefinition(line, f"not valid TOML: {_AT_LINE.sub('', str(error))}") from None
    except ValidationError as error:
        first = plainest(error, {*Head.model_fields, *ParameterHead.model_fields})
        of_parameter = first["loc"][:1] == ("parameters",) and len(first["loc"]) > 2
        reason = in_plain_words(first, ParameterHead if of_parameter else Head)
        raise BadDefinition(front.line_of(first["loc"]), reason) from None
    except (ValueError, OverflowError, RecursionError):
        raise BadDefinition(
            1, "the front matter contains a number that is too large, or is nested too deeply"
        ) from None


def _name(file_name: str, given: str | None, front: _Front) -> str:
    name = given if given is not None else file_name.removesuffix(".md")
    line = front.line_of(["name"])
    if not _NAME.fullmatch(name):
        raise BadDefinition(
            line,
            f"'{name[:60]}' is not a valid name: use a lower-case letter first, then lower-case letters, digits, _ and -",
        )
    if name in RESERVED:
        raise BadDefinition(line, f"'{name}' is reserved; choose another name")
    return name


def _parameters(head: Head, front: _Front) -> tuple[Parameter, ...]:
    read: list[Parameter] = []
    for place, given in enumerate(head.parameters):
        if given.name in {parameter.name for parameter in read}:
            raise BadDefinition(front.line_of(["parameters", place, "name"]), f"'{given.name}' is named twice")
        read.append(_parameter(given, place, front))
    return tuple(read)


def _parameter(given: ParameterHead, place: int, front: _Front) -> Parameter:
    def fault(field: str, reason: str) -> BadDefinition:
        return BadDefinition(front.line_of(["parameters", place, field]), f"parameter '{given.name}': {reason}")

    required = given.default is None if given.required is None else given.required
    if required and given.default is not None:
        raise fault("default", "it is required, so its default is never used; remove one of the two")
    plain = Parameter(given.name, given.type, given.description, required)
    choices = []
    for choice in given.choices:
        fitted = fitting(plain, choice)
        if isinstance(fitted, Unfit):
            raise fault("choices", f"the choice '{choice}' {fitted.reason}")
        choices.append(fitted)
    parameter = Parameter(given.name, given.type, given.description, required, choices=tuple(choices))
    if given.default is None:
        return parameter
    default = fitting(parameter, given.default)
    if isinstance(default, Unfit):
        raise fault("default", f"the default {default.reason}")
    return Parameter(given.name, given.type, given.description, required, default, tuple(choices))


# --- the steps


def _action(section: DefinitionSection) -> Action | Nested:
    block = section.block
    match section.kind:
        case "prompt":
            return Prompt(section.text)
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
    found = _json(section)
    if strange := next((key for key in found if key not in QUESTION_KEYS), None):
        raise BadDefinition(section.block_line, f"in the question {unknown_key(strange, QUESTION_KEYS)}")
    stop_on = found.pop("stop_on", [])
    question = read_question({**found, "type": "question"})
    if question is None:
        raise BadDefinition(
            section.block_line,
            "this is not a valid question: it needs a 'question' and 'options' (each with 'label' and 'value'), or 'allow_custom': true",
        )
    values = [option.value for option in question.options]
    if not isinstance(stop_on, list) or not all(value in values for value in stop_on):
        raise BadDefinition(section.block_line, f"'stop_on' must list values of the options: {', '.join(values)}")
    return AskStep(question.to_json(), tuple(str(value) for value in stop_on))


def _nested(section: DefinitionSection) -> Nested:
    try:
        words = split_words(section.block)
    except Invalid as fault:
        raise BadDefinition(section.block_line, fault.message) from None
    if not words or not _NAME.fullmatch(words[0]):
        raise BadDefinition(
            section.block_line, "a workflow block contains a name, then key=value: explain_code path={{path}}"
        )
    given: dict[str, str] = {}
    for word in words[1:]:
        named = _KEY_VALUE.fullmatch(word)
        if named is None or named[1] in given:
            raise BadDefinition(section.block_line, f"'{word[:60]}' is not key=value, or its key appears twice")
        given[named[1]] = named[2]
    return Nested(words[0], given)


def _json(section: DefinitionSection) -> Json:
    try:
        found = json.loads(section.block, parse_constant=_no_constant)
        msgspec.json.encode(found)  # a value that cannot be encoded cannot be run
    except json.JSONDecodeError as error:
        raise BadDefinition(section.block_line + error.lineno, f"not valid JSON: {error.msg}") from None
    except (ValueError, OverflowError, RecursionError):
        reason = "it holds something that is no JSON value, a number too large, or is nested too deep"
        raise BadDefinition(section.block_line, f"not valid JSON: {reason}") from None
    if not isinstance(found, dict):
        raise BadDefinition(section.block_line, "the block must be one JSON object")
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


# --- what holds for the whole


def _require_steps(workflow: Workflow) -> None:
    if not workflow.steps:
        raise BadDefinition(1, "there is no step: write at least one '## title' with the words for the agent below it")
    if len(workflow.steps) > MOST_STEPS:
        raise BadDefinition(workflow.steps[MOST_STEPS].line, f"more than {MOST_STEPS} steps; make it two workflows")
    for step in workflow.steps:
        if isinstance(step.does, Nested) and step.does.workflow == workflow.name:
            raise BadDefinition(step.line, "a workflow cannot run itself")


def _require_known_names(workflow: Workflow, sections: Sequence[DefinitionSection]) -> None:
    """Every `{{name}}` is a parameter; what is not, is told with its line."""
    known = {parameter.name for parameter in workflow.parameters}
    takes = ", ".join(sorted(known)) or "none"
    for step, section in zip(workflow.steps, sections, strict=True):
        for name, meant in misspelt_placeholders("\n".join((step.title, *section.lines)), known):
            raise BadDefinition(
                section.line_of(name), f"'{{{{{name}}}}}' is no parameter; did you mean '{{{{{meant}}}}}'?"
            )
        used = [*PLACEHOLDER.findall(step.title), *placeholders(_texts(step.does))]
        for name in used:
            if name not in known:
                raise BadDefinition(section.line_of(name), f"'{{{{{name}}}}}' is no parameter (there are: {takes})")


def _texts(does: Action | Nested) -> JsonValue:
    match does:
        case Prompt(text):
            return text
        case ToolUse(_, parameters):
            return parameters
        case AskStep(question):
            return question
        case Nested(_, given):
            return dict(given)
        case ShowChanges():
            return None
