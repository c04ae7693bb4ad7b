"""What a command line would run, read with bash's grammar: every simple command in it, and the files it writes and reads.

Pure: text in, `ParsedCommand` out. Whatever cannot be told from the text alone is said in `unjudgeable`, and is then always asked.
What wrappers such as `sudo` or `sh -c` run is `wrappers.py`.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from anycowork.domain.values import value
from anycowork.permissions import shellwords
from anycowork.permissions.grammar import require_as_bash_reads, syntax_tree
from anycowork.permissions.shellwords import Unjudgeable, Word, require_no_rebinding
from anycowork.permissions.wrappers import Part, part_of

if TYPE_CHECKING:  # heavy: imported when the first command is judged
    from tree_sitter import Node

LONGEST = 10_000
MOST_BRACKETS = 200
DEEPEST = 40
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_RAW = re.compile(r"[^\s;&|()<>`$\"'{}\\]+")
_PLAIN_TEST = re.compile(r"\[ [\w \t./=!\"'@:,+%*?~{}-]+ \]")
_HEREDOC = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z_][A-Za-z0-9_]*'|\"[A-Za-z_][A-Za-z0-9_]*\"")
# Statements that only hold others; their own words (`if`, `&&`, `done` …) run nothing.
# fmt: off
_HOLDERS = frozenset({
    "program", "list", "pipeline", "subshell", "compound_statement", "negated_command", "if_statement",
    "elif_clause", "else_clause", "while_statement", "do_group",
})
# fmt: on


@value
class ParsedCommand:
    """`raw` are the words whatever they mean: what is left to compare when the rest cannot be judged."""

    text: str
    parts: tuple[Part, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    unjudgeable: str | None = None
    raw: tuple[str, ...] = ()
    moves: bool = False  # it changes folders, so that relative paths mean something else


@lru_cache(maxsize=512)
def parse(text: str, depth: int = 0) -> ParsedCommand:
    reader = _Reader(depth)
    why = _odd_text(text)
    if why is None:
        try:
            reader.program(text)
        except Unjudgeable as fault:
            why = fault.why
    every = [part for top in reader.parts for part in top.all()]
    return ParsedCommand(
        text=text.strip(),
        parts=tuple(reader.parts),
        writes=tuple(reader.writes),
        reads=tuple(reader.reads),
        unjudgeable=why or next((part.unjudgeable for part in every if part.unjudgeable), None),
        raw=tuple(_RAW.findall(text)),
        moves=any(part.name in ("cd", "pushd", "popd") for part in every),
    )


def _odd_text(text: str) -> str | None:
    if len(text) > LONGEST:
        return "it is too long to be judged"
    if sum(map(text.count, ("(", "{", "`", "<<"))) > MOST_BRACKETS:  # the parser's time grows with their square
        return "it holds too many brackets to be judged"
    if "\\\n" in text:
        return "a line ends in a backslash, which joins words in ways that are easy to misread"
    for character in text:
        if character in "\n\t" or " " <= character <= "~":
            continue
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"):
            return f"it holds an invisible or odd character (U+{ord(character):04X})"
    return None


@dataclass(slots=True)
class _Reader:
    """Walks the syntax tree and collects. Every kind of node is either known here or makes the command unjudgeable."""

    depth: int
    parts: list[Part] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    source: bytes = b""

    def program(self, text: str) -> None:
        if self.depth > 3:
            raise Unjudgeable("commands stand inside commands too deeply")
        self.source = text.encode()
        root = syntax_tree(self.source)
        self.statement(root, 0)
        if root.has_error:
            raise Unjudgeable("it is not a command line that can be parsed")
        require_as_bash_reads(root, self.source)

    # --- statements

    def statement(self, node: "Node", depth: int) -> None:
        if depth > DEEPEST:
            raise Unjudgeable("it is nested too deeply")
        kind = node.type
        if kind in _HOLDERS:
            for child in node.named_children:
                self.statement(child, depth + 1)
        elif kind == "command":
            self.command(node, depth)
        elif kind == "redirected_statement":
            self.redirected(node, depth)
        elif kind in ("variable_assignment", "variable_assignments", "declaration_command", "unset_command"):
            self.assignment(node, depth)
        elif kind in ("for_statement", "case_statement", "case_item", "function_definition"):
            self.with_words(node, depth)
        elif kind == "test_command":
            self.test(node, depth)
        elif kind == "comment":
            return
        elif kind == "file_redirect":  # $(< file)
            self.file_redirect(node, depth)
        else:
            raise Unjudgeable(f"it uses a form of bash that is not judged ({kind.replace('_', ' ').lower()})")

    def redirected(self, node: "Node", depth: int) -> None:
        for child in node.named_children:
            if child.type.endswith("_redirect"):
                self.redirect(child, depth)
            else:
                self.statement(child, depth + 1)

    def with_words(self, node: "Node", depth: int) -> None:
        """Loops, cases and functions: their words may hold substitutions; their bodies are statements."""
        for child in node.named_children:
            if child.type == "variable_name":
                require_no_rebinding(shellwords.text(child))
            elif child.type in shellwords.KINDS:
                self.word(child, depth)
            elif child.type.endswith("_redirect"):
                self.redirect(child, depth)
            else:
                self.statement(child, depth + 1)

    def command(self, node: "Node", depth: int) -> None:
        words: list[Word] = []
        assigned = 0
        for child in node.children:
            if child.type == "variable_assignment":
                words.append(self.assigned(child, depth))
                assigned += 1
            elif not child.is_named and child.type in ("==", "=~", "="):
                words.append(Word(child.type, certain=True))
            elif child.type == "command_name":
                words.append(self.word(child.named_children[0] if child.named_children else child, depth))
            elif child.type.endswith("_redirect"):
                self.redirect(child, depth)
            elif child.type == "comment":
                continue
            else:
                words.append(self.word(child, depth))
        shellwords.require_apart(node)
        self.parts.append(part_of(words, assigned, lambda text: parse(text, self.depth + 1)))

    def assignment(self, node: "Node", depth: int) -> None:
        """Setting a variable is a step of its own: it can change what the next command does."""
        if node.type == "variable_assignment":
            self.parts.append(part_of([self.assigned(node, depth)], 1, parse))
            return
        words: list[Word] = []
        first = shellwords.text(node.children[0])
        if node.type != "variable_assignments":
            words.append(Word(first, certain=True))
        for child in node.named_children:
            if child.type == "variable_assignment":
                words.append(self.assigned(child, depth))
            elif child.type == "variable_name":
                require_no_rebinding(shellwords.text(child))
                words.append(Word(shellwords.text(child), certain=True))
            else:
                words.append(self.word(child, depth))
        self.parts.append(Part.plain(words))

    def assigned(self, node: "Node", depth: int) -> Word:
        name = shellwords.text(node.children[0])
        require_no_rebinding(name)
        if node.children[0].type != "variable_name":
            raise Unjudgeable("it sets part of an array, whose index bash computes")
        values = [self.word(child, depth) for child in node.named_children[1:]]
        return Word(shellwords.text(node), certain=all(value.certain for value in values))

    def test(self, node: "Node", depth: int) -> None:
        if node.children[0].type != "[":
            raise Unjudgeable("it computes a condition with [[ ]] or (( )), which can run commands by itself")
        written = shellwords.text(node)
        if not _PLAIN_TEST.fullmatch(written):
            raise Unjudgeable("it tests a condition with more than plain words")
        certain = not re.search(r"[\"'*?~{\\]", written)
        self.parts.append(Part.plain([Word(word, certain=certain) for word in written.split()]))

    # --- words

    def word(self, node: "Node", depth: int) -> Word:
        """The word's value, and whether it is certain. Commands inside it are collected too."""
        for inner in shellwords.substitutions(node):
            if inner.type != "command_substitution" and inner.type != "process_substitution":
                continue
            if shellwords.text(inner).startswith("`") and "\\" in shellwords.text(inner):
                raise Unjudgeable("it escapes characters inside backticks")
            for child in inner.named_children:
                self.statement(child, depth + 1)
        return shellwords.read(node)

    # --- redirections

    def redirect(self, node: "Node", depth: int) -> None:
        if node.type == "file_redirect":
            self.file_redirect(node, depth)
        elif node.type == "herestring_redirect":
            for child in node.named_children:
                self.word(child, depth)
        elif node.type == "heredoc_redirect":
            self.heredoc(node, depth)
        else:
            raise Unjudgeable("it redirects in a way that is not judged")

    def file_redirect(self, node: "Node", depth: int) -> None:
        operator = next(child.type for child in node.children if not child.is_named)
        if len([child for child in node.named_children if child.type != "file_descriptor"]) > 1:
            raise Unjudgeable("words of the command stand behind a redirection")
        for child in node.named_children:
            if child.type == "file_descriptor":
                continue
            target = self.word(child, depth)
            if operator in (">&", "<&", ">&-", "<&-") and (target.value.isdigit() or target.value == "-"):
                continue
            if not target.certain:
                raise Unjudgeable("the file that it redirects to or from is only known when it runs")
            if target.value not in _HARMLESS_FILES:
                (self.reads if operator == "<" else self.writes).append(target.value)

    def heredoc(self, node: "Node", depth: int) -> None:
        """The grammar's idea of where the text ends is checked: what stands after it would be run."""
        start = next(child for child in node.children if child.type == "heredoc_start")
        mark = shellwords.text(start)
        if not _HEREDOC.fullmatch(mark) or shellwords.text(node).count("<<") != 1:
            raise Unjudgeable("its here-document is marked in an unusual way")
        ends = [child for child in node.children if child.type == "heredoc_end"]
        body = "".join(shellwords.text(child) for child in node.children if child.type == "heredoc_body")
        if len(ends) != 1 or shellwords.text(ends[0]) != mark.strip("'\""):
            raise Unjudgeable("its here-document does not end clearly")
        if any(line.strip() == mark.strip("'\"") for line in body.splitlines()):
            raise Unjudgeable("its here-document may end earlier than it seems")
        for child in node.named_children:
            if child.type == "heredoc_body":
                for inner in child.named_children:
                    if inner.type != "heredoc_content":
                        self.word(inner, depth)
            elif child.type in ("pipeline", "list", "command", "redirected_statement"):
                self.statement(child, depth + 1)
            elif child.type.endswith("_redirect"):
                self.redirect(child, depth)
            elif child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                self.word(child, depth)
