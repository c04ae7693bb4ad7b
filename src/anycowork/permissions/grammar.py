"""Bash's grammar, and the places where its parser is more generous than bash itself: each was found by running both side by side.

Whatever the two may read differently is not judged at all.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from anycowork.permissions.shellwords import Unjudgeable

if TYPE_CHECKING:  # heavy: imported when the first command is judged
    from tree_sitter import Node, Parser

_VARIABLE = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_BLANK_IN_WORD = re.compile(rb"(?<!\\)(?:\\\\)*[ \t\n]")
_SEPARATORS = b" \t\n;&|()"
# Between the parts of these, blanks are text.
_TEXTS = frozenset({"string", "heredoc_body", "heredoc_redirect", "raw_string", "ansi_c_string", "translated_string"})


def syntax_tree(source: bytes) -> "Node":
    return _parser().parse(source).root_node


def require_as_bash_reads(root: "Node", source: bytes) -> None:
    """Raises: Unjudgeable where the tree may not be what bash would make of the text."""
    if source[: root.start_byte].strip(b" \t\n") or source[root.end_byte :].strip(b" \t\n"):
        raise Unjudgeable("it is unclear where its words begin or end")
    for node in _all(root):
        _require_no_hidden_text(node, source)
        _require_clear_start(node, source)
        kind, text = node.type, source[node.start_byte : node.end_byte]
        if kind == "word" and _BLANK_IN_WORD.search(text):
            raise Unjudgeable("it is unclear where one of its words ends")
        if kind == "variable_assignment" and not _VARIABLE.fullmatch(node.children[0].text or b""):
            raise Unjudgeable("it sets something that is no plain variable")


def _require_no_hidden_text(node: "Node", source: bytes) -> None:
    """Between two nodes stand blanks and nothing else: the parser skips some things that bash does not."""
    if node.type in _TEXTS:
        return
    for first, second in pairwise(node.children):
        if source[first.end_byte : second.start_byte].strip(b" \t\n"):
            raise Unjudgeable("it is unclear where one of its words begins")
    edges = (
        [(node.start_byte, node.children[0].start_byte), (node.children[-1].end_byte, node.end_byte)]
        if node.children
        else []
    )
    if any(source[start:end].strip(b" \t\n") for start, end in edges):
        raise Unjudgeable("it is unclear where one of its words begins")


def _require_clear_start(node: "Node", source: bytes) -> None:
    """A comment, a number before `>` and a `!` are these only where a word could begin."""
    before, after = source[max(0, node.start_byte - 1) : node.start_byte], source[node.end_byte : node.end_byte + 1]
    if node.type in ("comment", "file_descriptor") and before and before not in _SEPARATORS:
        raise Unjudgeable("a '#' or a number stands where it can be read in two ways")
    if node.type == "!" and (after not in b" \t" or not after):
        raise Unjudgeable("a '!' stands where it can be read in two ways")


def _all(node: "Node") -> "Iterator[Node]":
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    from tree_sitter_language_pack import get_parser

    return get_parser("bash")
