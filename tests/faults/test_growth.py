"""Ten times the text may cost ten times the time, and a good deal of noise: never the square of it.

Each entrance of text from outside is fed with what its reader likes least, tenfold longer from one size to the next. CPU time of this
process alone is compared, the least of several runs.
"""

import gc
import json
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha1

import pytest

from anycowork.acp.tool_calls import apply_hunks, diff_hunks
from anycowork.agent.injection_detector import InjectionDetector
from anycowork.agent.reply_parser import FoundCall, claims_success, read_called, read_reply, safe_to_show
from anycowork.agent.reply_stream import ThinkSplitter
from anycowork.domain.errors import AnyCoworkError, NoMatch
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.network import read_destination
from anycowork.domain.secret_values import SecretHider
from anycowork.domain.tools import CallStatus, ToolResult
from anycowork.permissions.patterns import path_matches
from anycowork.permissions.shell.parser import parse
from anycowork.prompts.window import optimize_history_by_tokens
from anycowork.providers.guide.grammar import understand
from anycowork.providers.openai.native_calls import strict
from anycowork.sandbox.network.proxy import BadHead, read_head
from anycowork.tools.command_summary import without_key_files
from anycowork.tools.syntax_check import check_syntax
from anycowork.tools.text_edits import TextEdit, apply_edits
from anycowork.tools.write_tools import elision_in, lost_content
from anycowork.workflows.definition import read_definition
from anycowork.workflows.sections import BadDefinition
from anycowork.workspace.diffs import diff
from anycowork.workspace.git_index_file import parse_index
from anycowork.workspace.ignores import read_patterns
from anycowork.workspace.text import TextFile
from anycowork.workspace.trusted_files import with_the_unseen_written_out

FACTOR = 25  # a tenfold text; the square would be a hundredfold
SHORTEST = 0.004  # seconds: what takes less is not measured
LONGEST = 4.0  # seconds: who needs more has failed
TOOLS = ("create_file", "update_file", "execute_command", *(f"tool_{number}" for number in range(200)))

pytestmark = pytest.mark.usefixtures("only_own_garbage")
Work = Callable[[int], Callable[[], object]]


def _cpu(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time()
    with suppress(AnyCoworkError, BadDefinition, BadHead, ValueError):
        work()
    return time.process_time() - began


def _assert_linear(prepared: Work, sizes: tuple[int, ...]) -> None:
    before: float | None = None
    for size in sizes:
        repeats = 3 if before is None or before < 0.01 else 1
        took = min(_cpu(prepared(size)) for _ in range(repeats))
        assert took < LONGEST, f"{size}: {took:.2f} s"
        if before is not None and before >= SHORTEST:
            assert took <= FACTOR * before, f"{size}: {took:.4f} s after {before:.4f} s"
        before = took


def _edit(body: str, find: str) -> Callable[[], object]:
    return lambda: apply_edits(TextFile(body), [TextEdit(find, "x")], "a.txt")


def _planted(text: str, **parameters: str) -> Callable[[], object]:
    def look() -> bool:
        planted = InjectionDetector(TOOLS)
        planted.add_text(text)
        call = FoundCall("update_file", dict(parameters), terminate=False, source=json.dumps(parameters))
        return planted.contains(call)

    return look


def _workflow(front: str, body: str) -> Callable[[], object]:
    return lambda: read_definition("a.md", f"+++\ndescription = 'x'\n{front}\n+++\n{body}")


def _message(number: int, role: Speaker, kind: MessageType = MessageType.TEXT) -> Message:
    return Message(id=f"m{number}", chat_id="c", role=role, content=f"words {number}", message_type=kind)


def _history(count: int, *roles: Speaker) -> list[Message]:
    return [_message(number, roles[number % len(roles)]) for number in range(count)]


def _followed_diff(lines: int) -> Callable[[], object]:
    """A change in every ninth line, brought into an editor's buffer."""
    before = "".join(f"l{at}\n" for at in range(lines))
    after = "".join(f"l{at}\n" if at % 9 else f"m{at}\n" for at in range(lines))
    hunks = diff_hunks(diff(before.encode(), after.encode(), "a.txt").text)
    assert hunks is not None
    return lambda: apply_hunks(before, hunks)


def _shared_paths(count: int) -> Callable[[], object]:
    """An index of git in which each path goes on where the one before it ended."""
    entries = (b"\0" * 62 + b"\0" + b"a\0") * count
    body = b"DIRC" + (4).to_bytes(4) + count.to_bytes(4) + entries
    return lambda: parse_index(body + sha1(body, usedforsecurity=False).digest())


BLANK_LINES = "    \n"
ENTRANCES: dict[str, tuple[Work, tuple[int, ...]]] = {
    # update_file
    "edit, blank lines with blanks": (
        lambda n: _edit(("a\n" + BLANK_LINES * 30 + "b\n") * n, "a\n" + "\n" * 30 + "wrong"),
        (30, 300, 3_000),
    ),
    "edit, long runs of blanks": (lambda n: _edit(" " * n, "a" + " " * (n // 2) + "b"), (10_000, 100_000, 1_000_000)),
    "edit, nearly everywhere": (lambda n: _edit("ab" * n, "ab" * (n // 3) + "c"), (10_000, 100_000, 1_000_000)),
    "edit, Windows line ends": (lambda n: _edit("a\r\n" * n, "a\n" * (n // 2) + "b"), (3_000, 30_000, 300_000)),
    "edit, words that are near": (lambda n: _edit("a b c d\n" * n, "a b c x y"), (1_000, 10_000, 100_000)),
    "whole text, white space": (lambda n: lambda: elision_in(" \n" * n + "\t" * n, ""), (10_000, 100_000, 1_000_000)),
    "whole text, comments": (lambda n: lambda: elision_in("# the rest " * n, ""), (1_000, 10_000, 100_000)),
    "whole text, words asked": (
        lambda n: lambda: lost_content("", "one two three four five six seven", request="take " * n),
        (1_000, 10_000, 100_000),
    ),
    "output, what was denied": (
        lambda n: lambda: without_key_files(ToolResult(CallStatus.ERROR, "permission denied " + "a" * n), (".env",)),
        (1_000, 10_000, 60_000),
    ),
    "diff, the same line": (
        lambda n: lambda: diff(b"a\n" * n, b"b\na\n" * (n // 2), "a.txt"),
        (1_000, 10_000, 100_000),
    ),
    "diff, brought into an editor": (_followed_diff, (400, 4_000, 40_000)),
    # what is read, and what programs print
    "git's index, paths that grow": (_shared_paths, (600, 6_000, 60_000)),
    "planted, open objects": (lambda n: _planted('"tool" ' + "{" * n), (10_000, 100_000, 1_000_000)),
    "planted, half objects": (lambda n: _planted('"tool" ' + '{"a" ' * n), (1_000, 10_000, 100_000)),
    "planted, objects in objects": (lambda n: _planted('"tool" ' + '{"a":[1,' * n), (1_000, 10_000, 100_000)),
    "planted, backslashes": (lambda n: _planted('"tool" ' + "\\" * n), (10_000, 100_000, 1_000_000)),
    "planted, names of tools": (
        lambda n: _planted(" ".join(TOOLS[number % 203] for number in range(n)), path="a-a", content="b"),
        (1_000, 10_000, 100_000),
    ),
    "planted, files in a command": (
        lambda n: _planted("update_file " * 100, command=" ".join(f"f{number}.txt" for number in range(n))),
        (1_000, 10_000, 100_000),
    ),
    "planted, one long word": (lambda n: _planted("update_file", command="a" * n), (10_000, 100_000, 1_000_000)),
    "unseen characters": (
        lambda n: lambda: with_the_unseen_written_out("\u200d\u200d " * n),
        (10_000, 100_000, 1_000_000),
    ),
    # replies
    "reply, open objects": (lambda n: lambda: read_reply("{" * n), (4_000, 40_000, 400_000)),
    "reply, objects in objects": (lambda n: lambda: read_reply('{"a":[1,' * n), (500, 5_000, 50_000)),
    "reply, long open objects": (
        lambda n: lambda: read_reply('{"a":' * 200 + '{"b":1},' * n),
        (500, 5_000, 50_000),
    ),
    "reply, fences": (lambda n: lambda: read_reply(" " * n + "```" + " " * n + "x"), (2_000, 20_000, 200_000)),
    "reply, blanks while it comes": (lambda n: lambda: safe_to_show("{" + " " * n), (4_000, 40_000, 400_000)),
    "reply, brackets while it comes": (lambda n: lambda: safe_to_show("[" * n), (4_000, 40_000, 400_000)),
    "reply, lines of brackets while it comes": (
        lambda n: lambda: safe_to_show("[\n" * n),
        (2_000, 20_000, 200_000),
    ),
    "reply, braces while it comes": (lambda n: lambda: safe_to_show(" {" * n), (2_000, 20_000, 200_000)),
    "reply, thoughts": (
        lambda n: lambda: ThinkSplitter().feed("<think></think>" * n),
        (2_000, 20_000, 200_000),
    ),
    "reply, claims": (lambda n: lambda: claims_success("not could n " * n), (4_000, 40_000)),
    # native arguments
    "arguments, deep": (lambda n: lambda: read_called([strict("a", "[" * n).text], ""), (4_000, 40_000, 400_000)),
    "arguments, many": (
        lambda n: lambda: read_called([strict("a", '{"b": [' + "{}," * n + "{}]}").text], ""),
        (1_000, 10_000, 100_000),
    ),
    # the proxy
    "proxy head, blanks": (
        lambda n: lambda: read_head(b"GET http://a/ HTTP/1.1\r\nA: " + b" " * n + b"\nx\r\n\r\n"),
        (10_000, 100_000, 1_000_000),
    ),
    "proxy head, target": (
        lambda n: lambda: read_head(b"GET http://" + b"." * n + b" HTTP/1.1\r\n\r\n"),
        (1_000, 8_000),
    ),
    "proxy head, connection": (
        lambda n: (
            lambda: read_head(
                b"GET http://a/ HTTP/1.1\r\n" + b"Connection: " + b"a," * n + b"\r\n" + b"B: c\r\n" * 90 + b"\r\n"
            )
        ),
        (1_000, 10_000, 100_000),
    ),
    "destination": (lambda n: lambda: read_destination("1." * n), (10_000, 100_000, 1_000_000)),
    # definitions
    "workflow, dotted keys": (lambda n: _workflow("a." * n + "b = 1", "## s\nx"), (60, 600, 6_000)),
    "workflow, tables": (lambda n: _workflow("[a]\n" * n, "## s\nx"), (60, 600, 6_000)),
    "workflow, keys": (
        lambda n: _workflow("".join(f"k{at}=1\n" for at in range(n)), "## s\nx"),
        (60, 600, 6_000),
    ),
    "workflow, placeholders": (lambda n: _workflow("", "## s\n" + "{{ a" * n), (150, 1_500, 15_000)),
    "workflow, fences": (lambda n: _workflow("", "## s\n" + "```\n" * n), (150, 1_500, 15_000)),
    "workflow, comments": (lambda n: _workflow("", "<!-- -->\n" * n + "## s\nx"), (70, 700, 7_000)),
    # patterns and searches
    "pattern, stars": (lambda n: lambda: path_matches("a*" * 20 + "b", "a" * n), (40, 400, 4_000)),
    "pattern, folders": (lambda n: lambda: path_matches("**/a/**/b/**/c", "a/b/" * n), (10, 100, 1_000)),
    "pattern, loose": (lambda n: lambda: path_matches("a**b**c", "a" + "b" * n), (1_000, 10_000, 100_000)),
    "pattern, loose and narrow": (lambda n: lambda: path_matches("a**b*c", "a" + "b" * n), (1_000, 10_000, 100_000)),
    "ignore file": (lambda n: lambda: read_patterns("a" + " " * n + "b\n"), (10_000, 100_000, 1_000_000)),
    # long chats
    "chat of one voice": (
        lambda n: lambda: optimize_history_by_tokens(_history(n, Speaker.USER), budget=10_000_000),
        (400, 4_000, 40_000),
    ),
    "chat that does not fit": (
        lambda n: lambda: optimize_history_by_tokens(_history(n, Speaker.USER, Speaker.ASSISTANT), budget=4_000),
        (400, 4_000, 40_000),
    ),
    # requests that the guide reads
    "guide, quotations that begin": (lambda n: lambda: understand("“" * n), (490, 4_900, 49_000)),
    "guide, fences": (lambda n: lambda: understand("```\na" * n), (98, 980, 9_800)),
    # values that look like secrets
    "secrets, assignments": (lambda n: lambda: SecretHider().hide("secret_token=" * n), (1_000, 10_000, 100_000)),
    "secrets, addresses": (lambda n: lambda: SecretHider().hide("http://a:" * n), (1_000, 10_000, 100_000)),
    "secrets, web tokens": (lambda n: lambda: SecretHider().hide("eyJaaaaaaaa." * n), (1_000, 10_000, 100_000)),
    "secrets, keys that begin": (
        lambda n: lambda: SecretHider().hide(("-----BEGIN PRIVATE" + " KEY-----") * n),
        (1_000, 10_000, 100_000),
    ),
    "secrets, tokens": (lambda n: lambda: SecretHider().hide("sk-a1" * n + " bearer  " * n), (1_000, 10_000, 100_000)),
    # commands
    "command": (lambda n: lambda: parse("echo " + "a" * n), (100, 1_000, 9_000)),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_ten_times_the_text_takes_about_ten_times_as_long(entrance: str) -> None:
    prepared, sizes = ENTRANCES[entrance]
    _assert_linear(prepared, sizes)


@pytest.mark.parametrize("name", ["a.toml", "a.py", "a.json"])
def test_what_a_parser_cannot_do_in_time_is_given_up_by_a_process_of_its_own(name: str) -> None:
    hostile = {"a.toml": "a." * 200_000 + "b = 1", "a.py": "a = 1\n" * 80_000, "a.json": "[" * 400_000}[name]
    assert _cpu(lambda: check_syntax(name, hostile.encode())) < 1.0


def test_an_edit_that_fits_nowhere_says_so_where_blank_lines_carry_blanks() -> None:
    with pytest.raises(NoMatch):
        apply_edits(
            TextFile("first\n" + BLANK_LINES * 40 + "end\n"), [TextEdit("first\n" + "\n" * 40 + "wrong", "x")], "a.txt"
        )
