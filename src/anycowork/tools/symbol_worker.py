"""A separate program: parses candidate files with tree-sitter and reports where a name is defined.

Started as `python -I symbol_worker.py` with an empty environment; it can be killed at any time. It imports nothing of ours, so that it
starts quickly. In: one JSON object {name, files: [{path, language, text}]}. Out: {definitions, unparsed}.
"""

import json
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # heavy, and only for the types
    from tree_sitter import Node

_WRAPPERS = re.compile(r"declarator$|^(parenthesized|reference|pointer)_")
_KINDS = (
    ("method", "method"),
    ("constructor", "method"),
    ("function", "function"),
    ("arrow", "function"),
    ("class", "class"),
    ("interface", "interface"),
    ("protocol", "interface"),
    ("struct", "struct"),
    ("record", "struct"),
    ("enum", "enum"),
    ("trait", "trait"),
    ("impl", "class"),
    ("object", "class"),
    ("namespace", "module"),
    ("module", "module"),
    ("macro", "function"),
    ("type", "type"),
    ("const", "constant"),
    ("static", "constant"),
    ("variable", "variable"),
    ("assignment", "variable"),
    ("var_spec", "variable"),
    ("property", "variable"),
    ("field", "variable"),
    ("declarator", "variable"),
    ("declaration", "variable"),
    ("definition", "function"),
)
_DEFINING = re.compile(
    r"(definition|declaration|_item|declarator|_spec|_alias|assignment|specifier|_def|_decl|^class|^module|^method|^singleton_method)"
)
_NOT_DEFINING = re.compile(r"import|use_|export_spec|parameter|argument|_call|call_|augmented")


def main() -> None:
    request = json.load(sys.stdin)  # noqa: TID251  # our own process wrote it
    definitions: list[dict[str, object]] = []
    unparsed: list[str] = []
    for file in request["files"]:
        try:
            definitions += definitions_in(request["name"], file["language"], file["text"], file["path"])
        except (LookupError, ValueError, RecursionError):
            unparsed.append(file["path"])
    json.dump({"definitions": definitions, "unparsed": unparsed}, sys.stdout)


def definitions_in(name: str, language: str, text: str, path: str) -> list[dict[str, object]]:
    """Checks only the places where the name occurs: finds the node that each is part of."""
    from tree_sitter_language_pack import get_parser

    source = text.encode()
    root = get_parser(language).parse(source).root_node  # type: ignore[arg-type]  # the language's name comes as data
    definitions: dict[int, dict[str, object]] = {}
    for occurrence in re.finditer(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])", source):
        leaf = root.descendant_for_byte_range(occurrence.start(), occurrence.end())
        defining = defining_node(leaf) if leaf is not None else None
        if defining is not None:
            definitions.setdefault(
                defining.start_byte,
                {
                    "path": path,
                    "line": leaf.start_point[0] + 1 if leaf is not None else 0,
                    "end_line": defining.end_point[0] + 1,
                    "kind": kind_of(defining),
                },
            )
    return list(definitions.values())


def defining_node(leaf: "Node") -> "Node | None":
    """Returns the definition whose name this leaf is, if there is one."""
    child, node = leaf, leaf.parent
    for _ in range(6):
        if node is None:
            return None
        if _is_name_of(child, node) and _DEFINING.search(node.type) and not _NOT_DEFINING.search(node.type):
            return node
        if not _WRAPPERS.search(node.type):
            return None
        child, node = node, node.parent
    return None


def _is_name_of(child: "Node", node: "Node") -> bool:
    if _WRAPPERS.search(node.type) and node.type != "variable_declarator" and node.type != "init_declarator":
        return False
    fields = ("name", "declarator", "left")
    return any(
        (name_node := node.child_by_field_name(field)) is not None and name_node.id == child.id for field in fields
    )


def kind_of(node: "Node") -> str:
    value = node.child_by_field_name("value")
    if value is not None and "function" in value.type:
        return "function"
    if node.type == "function_definition" and _in_class(node):
        return "method"
    return next((kind for mark, kind in _KINDS if mark in node.type), "symbol")


def _in_class(node: "Node") -> bool:
    above = node.parent
    for _ in range(3):
        if above is None:
            return False
        if "class" in above.type:
            return True
        above = above.parent
    return False


if __name__ == "__main__":
    main()
