"""Reads the TOML of definition files: the name, the parameters and other fields, with the line of each fault. Pure."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from pydantic import Field, ValidationError

from anycowork.domain.boundary import Boundary
from anycowork.domain.values import value
from anycowork.domain.workflows import ParameterType, Value, WorkflowParameter
from anycowork.workflows.parameters import UnfitValue, fitting
from anycowork.workflows.sections import BadDefinition, in_plain_words, plainest

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MOST_DOTS = 1_000  # the TOML parser scans a dotted key once for each dot
_AT_LINE = re.compile(r" ?\(at line (\d+), column \d+\)")
H = TypeVar("H", bound=Boundary)


class ParameterHead(Boundary):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    type: ParameterType = ParameterType.STRING
    description: Annotated[str, Field(max_length=500)] = ""
    required: bool | None = None
    default: Value | None = None
    choices: Annotated[tuple[Value, ...], Field(max_length=100)] = ()


@value
class FrontMatter:
    """The lines of TOML in a file. `first` is the number of the first one; `title` is what error messages call them."""

    lines: Sequence[str]
    first: int = 2
    title: str = "the front matter"

    def line_of(self, field: Sequence[str | int]) -> int:
        """Returns the line of this field, or of its table if it is missing. The file's first line is 1."""
        heads = [number for number, line in enumerate(self.lines) if line.lstrip().startswith("[")]
        start = 0
        if len(field) > 1 and isinstance(field[1], int):
            tables = [number for number in heads if self.lines[number].strip() == f"[[{field[0]}]]"]
            if field[1] < len(tables):
                start, field = tables[field[1]], field[2:]
        if not field:
            return start + self.first if start else 1
        end = next((number for number in heads if number > start), len(self.lines))
        key = str(field[0])
        for number in range(start, end):
            if _assigns(self.lines[number], key):
                return number + self.first
        if start:
            return start + self.first
        return next((number + self.first for number in heads if _table_name(self.lines[number]) == key), 1)


def _assigns(line: str, key: str) -> bool:
    return line.partition("=")[0].strip() == key and "=" in line


def _table_name(line: str) -> str:
    """The name in a line that begins a table: `[name]` or `[[name]]`."""
    return line.strip().removeprefix("[").removeprefix("[").partition("]")[0].strip()


def read_head(front: FrontMatter, head: type[H], tables: Mapping[str, type[Boundary]], *, longest: int) -> H:
    """Returns the fields of the TOML. `tables` are the types of its `[[name]]` tables. Raises: BadDefinition."""
    text = "\n".join(front.lines)
    if len(text) > longest:
        raise BadDefinition(1, f"{front.title} is longer than {longest:,} characters")
    if text.count(".") > _MOST_DOTS:
        raise BadDefinition(1, f"{front.title} has more than {_MOST_DOTS:,} dots: its keys are nested too deeply")
    try:
        return head.model_validate_json(msgspec.json.encode(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        line_number = _AT_LINE.search(str(error))
        line = int(line_number[1]) - 1 if line_number else len(front.lines) - 1
        raise BadDefinition(line + front.first, f"not valid TOML: {_AT_LINE.sub('', str(error))}") from None
    except ValidationError as error:
        kinds: tuple[type[Boundary], ...] = (head, *tables.values())
        first = plainest(error, {field for kind in kinds for field in kind.model_fields})
        faulty = tables.get(str(first["loc"][0]), head) if len(first["loc"]) > 2 else head
        raise BadDefinition(front.line_of(first["loc"]), in_plain_words(first, faulty)) from None
    except (ValueError, OverflowError, RecursionError):
        raise BadDefinition(1, f"{front.title} contains a number that is too large, or is nested too deeply") from None


def definition_name(name: str, front: FrontMatter) -> str:
    """Returns the name if it is a valid one. Raises: BadDefinition."""
    if not NAME.fullmatch(name):
        raise BadDefinition(
            front.line_of(["name"]),
            f"'{name[:60]}' is not a valid name: use a lower-case letter first, then lower-case letters, digits, _ and -",
        )
    return name


def read_parameters(heads: Sequence[ParameterHead], front: FrontMatter) -> tuple[WorkflowParameter, ...]:
    """Returns the parameters, each with its default and choices in its type. Raises: BadDefinition."""
    read: list[WorkflowParameter] = []
    for index, head in enumerate(heads):
        if head.name in {parameter.name for parameter in read}:
            raise BadDefinition(front.line_of(["parameters", index, "name"]), f"'{head.name}' is named twice")
        read.append(_parameter(head, index, front))
    return tuple(read)


def _parameter(head: ParameterHead, index: int, front: FrontMatter) -> WorkflowParameter:
    def fault(field: str, reason: str) -> BadDefinition:
        return BadDefinition(front.line_of(["parameters", index, field]), f"parameter '{head.name}': {reason}")

    required = head.default is None if head.required is None else head.required
    if required and head.default is not None:
        raise fault("default", "it is required, so its default is never used; remove one of the two")
    plain = WorkflowParameter(head.name, head.type, head.description, required)
    choices = []
    for choice in head.choices:
        fitted = fitting(plain, choice)
        if isinstance(fitted, UnfitValue):
            raise fault("choices", f"the choice '{choice}' {fitted.reason}")
        choices.append(fitted)
    parameter = WorkflowParameter(head.name, head.type, head.description, required, choices=tuple(choices))
    if head.default is None:
        return parameter
    default = fitting(parameter, head.default)
    if isinstance(default, UnfitValue):
        raise fault("default", f"the default {default.reason}")
    return WorkflowParameter(head.name, head.type, head.description, required, default, tuple(choices))
