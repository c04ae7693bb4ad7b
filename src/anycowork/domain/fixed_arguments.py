"""The arguments of a server's tool that a rule, an endorsement or a plan fixes to their values. Pure.

Who receives something, and how much, is in the arguments alone: allowing the tool as a whole allows all of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line

ANY_OTHER = "*"  # among `open`: whatever else the call names
MOST_ARGUMENTS = 100
LONGEST_VALUES = 10_000  # of all fixed values together, as JSON
_LONG_TEXT = 120
_MANY_WORDS = 15
_LONGEST_SHOWN = 80
_SIGNS_OF_TARGETS = frozenset("@{}[]<>=$\\|`_~^")  # of addresses and of code
ArgumentName = Annotated[str, Field(min_length=1, max_length=200)]


class ArgumentsBody(Boundary):
    """The arguments that a rule fixes. A call matches if each of `fixed` has exactly this value, each of `text` is plain text without
    addresses, links or code, and it has no other argument but those in `open`; `*` there stands for all others.

    A rule that asks or denies matches whatever else the call names.
    """

    fixed: dict[ArgumentName, JsonValue] = Field(default_factory=dict, examples=[{"to": "ann", "amount": 10}])
    text: list[ArgumentName] = Field(default_factory=list, examples=[["note"]])
    open: list[ArgumentName] = Field(default_factory=list, examples=[["fast"]])


@value
class FixedArguments:
    """`fixed` holds each value as JSON, so that 1, 1.0 and true differ. All three are sorted by name."""

    fixed: tuple[tuple[str, str], ...] = ()
    text: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fixed)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.fixed)

    def admit(self, arguments: Mapping[str, JsonValue], *, others_count: bool = True) -> bool:
        """Whether a call with these arguments matches. Without `others_count`, only the fixed values decide."""
        same = all(name in arguments and as_json(arguments[name]) == text for name, text in self.fixed)
        return same and not (others_count and any(self._others(arguments)))

    def differing(self, arguments: Mapping[str, JsonValue]) -> list[str]:
        """Returns the names of the arguments that keep a call from matching."""
        fixed = [name for name, text in self.fixed if name not in arguments or as_json(arguments[name]) != text]
        return [*fixed, *self._others(arguments)]

    def _others(self, arguments: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yields the arguments that are neither fixed nor left open."""
        if ANY_OTHER in self.open:
            return
        names = {name for name, _ in self.fixed}
        for name, argument in arguments.items():
            if name not in names and name not in self.open and not (name in self.text and is_plain_text(argument)):
                yield name

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "fixed": {name: _from_json(text) for name, text in self.fixed},
            "text": [*self.text],
            "open": [*self.open],
        }

    def describe(self, *, whole: bool = False) -> str:
        """Returns the arguments in words: `with to = "ann", amount = 10, any text in note`. Long values are cut, unless `whole`."""
        fixed = [f"{_line(name)} = {_line(_readable(text, whole=whole))}" for name, text in self.fixed]
        text = [f"any text in {_line(name)}" for name in self.text]
        free = [f"any {_line(name)}" if name != ANY_OTHER else "anything else" for name in self.open]
        return f"with {', '.join([*fixed, *text, *free])}" if fixed or text or free else "without arguments"


def read_arguments(body: ArgumentsBody) -> FixedArguments:
    """Raises: Invalid."""
    names = [*body.fixed, *body.text, *body.open]
    if len(set(names)) < len(names):
        raise Invalid("An argument is named twice: it is fixed, or text, or open.", param="arguments")
    if ANY_OTHER in body.fixed or ANY_OTHER in body.text:
        raise Invalid("'*' stands for all other arguments, so it can only be open.", param="arguments")
    fixed = tuple(sorted((name, as_json(argument)) for name, argument in body.fixed.items()))
    if len(names) > MOST_ARGUMENTS or sum(len(text) for _, text in fixed) > LONGEST_VALUES:
        raise Invalid(
            f"A rule fixes at most {MOST_ARGUMENTS} arguments of {LONGEST_VALUES:,} characters together.",
            param="arguments",
        )
    return FixedArguments(fixed, tuple(sorted(body.text)), tuple(sorted(body.open)))


def stored_arguments(text: str) -> FixedArguments:
    """Reads what `stored_text` wrote."""
    return read_arguments(ArgumentsBody.model_validate_json(text))


def stored_text(arguments: FixedArguments) -> str:
    return json.dumps(arguments.to_json(), sort_keys=True)


def arguments_of(call: Mapping[str, JsonValue]) -> FixedArguments | None:
    """Returns the arguments as an "always" on this call fixes them: all of them, except that a long text may be another plain text.

    None if they are too long for a rule.
    """
    texts = [name for name, argument in call.items() if is_long_text(argument)]
    fixed = {name: argument for name, argument in call.items() if name not in texts}
    try:
        return read_arguments(ArgumentsBody(fixed=fixed, text=texts))
    except (ValueError, Invalid):
        return None


def as_json(argument: JsonValue) -> str:
    return json.dumps(argument, sort_keys=True, separators=(",", ":"))


def _from_json(text: str) -> JsonValue:
    argument: JsonValue = json.loads(text)  # noqa: TID251  # `as_json` wrote it
    return argument


def is_long_text(argument: JsonValue) -> bool:
    """Whether this is a message to people: no name, address, number or program looks like it."""
    return (
        isinstance(argument, str)
        and len(argument) >= _LONG_TEXT
        and len(argument.split()) >= _MANY_WORDS
        and is_plain_text(argument)
    )


def is_plain_text(argument: JsonValue) -> bool:
    """Whether it is a text without the signs of addresses, links and code."""
    return isinstance(argument, str) and _SIGNS_OF_TARGETS.isdisjoint(argument) and "://" not in argument


def _readable(text: str, *, whole: bool) -> str:
    readable = json.dumps(_from_json(text), ensure_ascii=False, sort_keys=True)
    return readable if whole or len(readable) <= _LONGEST_SHOWN else f"{readable[:_LONGEST_SHOWN]}…"


def _line(text: str) -> str:
    return visible_line(UntrustedText(text))
