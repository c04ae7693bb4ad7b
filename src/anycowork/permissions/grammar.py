"""Bash's grammar, and the places where its parser is more generous than bash itself: each was found by running both side by side.

Whatever the two may read differently is not judged at all.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from anycowork.permissions.shellwords import Unjudgeable

if TYPE_CHECKING:  # heavy: imported when the first command is judged
    from tree_sitter import Node, Parser

_VARIABLE = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_BLANK_IN_WORD = re.compile(rb"(?<!\\)(?:\\\\)*[ \t\n]")
_UNCLEAR = frozenset({"comment", "file_descriptor", "!"})
_SEPARATORS = b" \t\n;&|()"
# Between the parts of these, blanks are text.
_TEXTS = frozenset({"string", "heredoc_body", "heredoc_redirect", "raw_string", "ansi_c_string", "translated_string"})


def syntax_tree(source: bytes) -> "Node":
    return _parser().parse(source).root_node


def require_as_bash_reads(root: "Node", source: bytes) -> None:
    """Raises: Unjudgeable where the tree may not be what bash would make of the text."""
    if source[: root.start_byte].strip(b" \t\n") or source[root.end_byte :].strip(b" \t\n"):
        raise Unjudgeable("it is unclear where its words begin or end")
    for node, children in _all(root):
        kind = node.type
        if children and kind not in _TEXTS:
            _require_no_hidden_text(node, children, source)
        if kind in _UNCLEAR:
            _require_clear_start(node, source)
        elif kind == "word" and _BLANK_IN_WORD.search(source[node.start_byte : node.end_byte]):
            raise Unjudgeable("it is unclear where one of its words ends")
        elif kind == "variable_assignment" and not _VARIABLE.fullmatch(children[0].text or b""):
            raise Unjudgeable("it sets something that is no plain variable")


def _require_no_hidden_text(node: "Node", children: "list[Node]", source: bytes) -> None:
    """Between two nodes stand blanks and nothing else: the parser skips some things that bash does not."""
    at = node.start_byte
    for child in children:
        if source[at : child.start_byte].strip(b" \t\n"):
            raise Unjudgeable("it is unclear where one of its words begins")
        at = child.end_byte
    if source[at : node.end_byte].strip(b" \t\n"):
        raise Unjudgeable("it is unclear where one of its words begins")


def _require_clear_start(node: "Node", source: bytes) -> None:
    """A comment, a number before `>` and a `!` are these only where a word could begin."""
    before, after = source[max(0, node.start_byte - 1) : node.start_byte], source[node.end_byte : node.end_byte + 1]
    if node.type in ("comment", "file_descriptor") and before and before not in _SEPARATORS:
        raise Unjudgeable("a '#' or a number stands where it can be read in two ways")
    if node.type == "!" and (after not in b" \t" or not after):
        raise Unjudgeable("a '!' stands where it can be read in two ways")


def _all(node: "Node") -> "Iterator[tuple[Node, list[Node]]]":
    """Every node with its children, which are made anew each time they are asked for."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        children = node.children
        yield node, children
        waiting.extend(children)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    from tree_sitter_language_pack import get_parser

    return get_parser("bash")
