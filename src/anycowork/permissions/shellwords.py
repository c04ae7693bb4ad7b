"""One word of a command line: its value once quotes are taken away, and whether that is certain before it runs. Pure."""

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from anycowork.domain.values import value

if TYPE_CHECKING:  # heavy: only for the types
    from tree_sitter import Node

# fmt: off
KINDS = frozenset({
    "word", "number", "raw_string", "string", "ansi_c_string", "translated_string", "concatenation",
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
})
# fmt: on
# fmt: off
_REBINDS = frozenset({
    "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "GLOBIGNORE", "CDPATH",
})
# fmt: on
_INNER = frozenset({"string_content", "variable_name", "special_variable_name", "file_descriptor"})
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_IN_DOUBLE_QUOTES = re.compile(r'\\([$`"\\])')
_UNCERTAIN = re.compile(r"[*?\[{]|(?:^|[=:])~")
_SIMPLE_EXPANSION = re.compile(r"\$\{#?[A-Za-z_][A-Za-z0-9_]*\}|\$\{[0-9]+\}")
_PLAIN_SUM = re.compile(r"\$\(\([0-9+\-*/%() ]+\)\)")


class Unjudgeable(Exception):
    """What it does cannot be told from the text; `why` completes "It must be asked because …"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@value
class Word:
    """Not certain: a glob, a variable, a substitution. Then `value` is only how it is written, and it may become several words."""

    value: str
    certain: bool


def require_no_rebinding(name: str) -> None:
    """Raises: Unjudgeable for a variable that decides which programs run, or how words are read."""
    if name in _REBINDS or name.startswith(("LD_", "DYLD_", "BASH_FUNC_")):
        raise Unjudgeable(f"it sets {name}, which changes what every command means")


def text(node: "Node") -> str:
    return (node.text or b"").decode()


def read(node: "Node") -> Word:
    """Raises: Unjudgeable."""
    for part in _inside(node):
        _require_known(part)
    return _value(node)


def substitutions(node: "Node") -> "Iterator[Node]":
    """The substitutions in this word, not those inside them."""
    for part in _inside(node):
        if part.type in ("command_substitution", "process_substitution"):
            yield part


def require_apart(command: "Node") -> None:
    """Two words with nothing between them are one word for bash, whatever the grammar says. Raises: Unjudgeable."""
    source = command.text or b""
    for first, second in zip(command.children, command.children[1:], strict=False):
        gap = source[first.end_byte - command.start_byte : second.start_byte - command.start_byte]
        redirects = first.type.endswith("_redirect") or second.type.endswith("_redirect")
        if gap.strip(b" \t") or not (gap or redirects):
            raise Unjudgeable("it is unclear where one of its words ends")


def _inside(node: "Node") -> "Iterator[Node]":
    yield node
    if node.type in ("command_substitution", "process_substitution"):
        return
    for child in node.named_children:
        yield from _inside(child)


def _require_known(node: "Node") -> None:
    kind = node.type
    if kind == "expansion" and not _SIMPLE_EXPANSION.fullmatch(text(node)):
        raise Unjudgeable("it computes a variable's value in a way that can run commands or hide words")
    if kind == "arithmetic_expansion" and not _PLAIN_SUM.fullmatch(text(node)):
        raise Unjudgeable("it computes with variables, which can run commands by itself")
    if kind == "variable_name" and text(node) == "IFS":
        raise Unjudgeable("it uses $IFS, which hides where words end")
    arithmetic = node.parent is not None and node.parent.type.endswith(("_expression", "arithmetic_expansion"))
    if kind not in KINDS and kind not in _INNER and not arithmetic:
        raise Unjudgeable(f"it holds a word that is not judged ({kind.replace('_', ' ').lower()})")


def _value(node: "Node") -> Word:
    written = text(node)
    match node.type:
        case "word":
            return Word(_ESCAPE.sub(r"\1", written), certain=not _UNCERTAIN.search(_ESCAPE.sub("_", written)))
        case "number" | "file_descriptor":
            return Word(written, certain=True)
        case "raw_string":
            return Word(written[1:-1], certain=True)
        case "string" if all(child.type in ("string_content", '"') for child in node.children):
            return Word(_IN_DOUBLE_QUOTES.sub(r"\1", written[1:-1]), certain="`" not in _ESCAPE.sub("", written))
        case "concatenation":
            return _joined(node, written)
        case _:
            return Word(written, certain=False)


def _joined(node: "Node", written: str) -> Word:
    if written == "{}":  # find's and xargs' placeholder, and no brace expansion
        return Word(written, certain=True)
    children = node.children
    if any(first.end_byte != second.start_byte for first, second in itertools.pairwise(children)):
        raise Unjudgeable("it is unclear where one of its words ends")
    values = [_value(child) for child in children]
    if not all(value.certain for value in values):
        return Word(written, certain=False)
    return Word("".join(value.value for value in values), certain=True)
